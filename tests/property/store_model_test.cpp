// The same random history on every store gives the same answers and the same states.
//
// Histories do not depend on how fast a store is: leases are very long, or they have ended before
// the next step; due times are long past or far away.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "property/step.hpp"
#include "property/subject.hpp"
#include "property/world.hpp"
#include "support/scale.hpp"

namespace rc {

template <>
struct Arbitrary<postroom::test::Step> {
    static Gen<postroom::test::Step> arbitrary() {
        using postroom::test::Verb;
        const auto verb = gen::map(gen::inRange(0, static_cast<int>(Verb::count_)),
                                   [](int number) { return static_cast<Verb>(number); });
        const auto number = gen::inRange(0U, 1000U);
        // A shorter history is a better counterexample, one of smaller numbers is just another.
        return gen::noShrink(gen::construct<postroom::test::Step>(
            verb, gen::element(postroom::Queue::outbox, postroom::Queue::inbox), number, number,
            number));
    }
};

}  // namespace rc

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

// Longer than every short lease and delay, and than PostgreSQL waits between two looks for what is
// over.
constexpr Duration pause = 8ms;

// The lines of `text` that `other` does not have.
std::string lines_beyond(const std::string& text, const std::string& other) {
    std::istringstream lines(text);
    std::string result;
    for (std::string line; std::getline(lines, line);)
        if (("\n" + other).find("\n" + line + "\n") == std::string::npos) result += line + "\n";
    return result;
}

class Trial {
public:
    Trial() {
        for (const WorldMaker& maker : world_makers())
            subjects_.emplace_back(maker.name, maker.make());
    }

    void take(const Step& step) {
        ++taken_;
        if (!is_transactional(step.verb)) end_transactions();
        bool time_passes = false;
        std::vector<std::string> answers;
        for (Subject& subject : subjects_) {
            Seen seen = subject.take(step);
            time_passes = time_passes || seen.time_passes;
            answers.push_back(std::move(seen.text));
        }
        compare("answer", answers);
        if (time_passes) let_time_pass();
        compare_snapshots();
    }

    void finish() {
        end_transactions();
        compare_snapshots();
    }

private:
    // Time passes afterwards, for what was settled in them with a short delay.
    void end_transactions() {
        if (!subjects_.front().in_transaction()) return;
        for (Subject& subject : subjects_) subject.end_transaction();
        let_time_pass();
    }

    void let_time_pass() {
        std::this_thread::sleep_for(pause);
        for (Subject& subject : subjects_) subject.world().time_passed(pause);
    }

    void compare_snapshots() {
        std::vector<std::string> snapshots;
        for (Subject& subject : subjects_) snapshots.push_back(subject.snapshot());
        compare("state", snapshots);
    }

    void compare(const char* what, const std::vector<std::string>& texts) {
        for (std::size_t i = 1; i < texts.size(); ++i) {
            if (texts[i] == texts[0]) continue;
            const std::string difference =
                "step " + std::to_string(taken_) + ": " + what + ", in " + subjects_[0].name() +
                " only:\n" + lines_beyond(texts[0], texts[i]) + "in " + subjects_[i].name() +
                " only:\n" + lines_beyond(texts[i], texts[0]);
            // The check runs a failing history once more before it reports, and tells what it saw
            // then: a difference that depends on time would never be read.
            std::cerr << difference;
            RC_FAIL(difference);
        }
    }

    std::vector<Subject> subjects_;
    std::size_t taken_ = 0;
};

TEST(StoreModel, TheSameHistoryGivesTheSameStatesOnEveryStore) {
    // Read by rapidcheck when it first checks something; what the caller sets wins, to repeat a
    // failure: RC_PARAMS="seed=... max_success=..." also looks for a shorter history, which takes
    // hundreds of trials and more time than a test run has.
    const std::string parameters = "noshrink=1 max_success=" + std::to_string(scaled(500, 40));
    setenv("RC_PARAMS", parameters.c_str(), 0);
    ASSERT_GE(world_makers().size(), 2U);
    EXPECT_TRUE(rc::check("same history, same states", [] {
        // The size is the greatest length: 60 steps on average.
        const auto history = *rc::gen::resize(120, rc::gen::arbitrary<std::vector<Step>>());
        Trial trial;
        for (const Step& step : history) trial.take(step);
        trial.finish();
    }));
}

}  // namespace
}  // namespace postroom::test
