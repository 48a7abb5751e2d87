// One outage of a store is a few lines of the log, however often it is tried.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "postroom/observer.hpp"

namespace postroom::outages_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class ManualClock final : public Clock {
public:
    Instant now() const override { return now_; }
    void pass(Duration time) { now_ += time; }

private:
    Instant now_{1000s};
};

class Outage : public testing::Test {
protected:
    std::vector<std::string> fail(const std::string& store, const std::string& operation) {
        log_.observe({.kind = EventKind::store_failed,
                      .store = store,
                      .error = "gone",
                      .operation = operation});
        return std::exchange(lines_, {});
    }
    std::vector<std::string> claim(const std::string& store) {
        log_.observe({.kind = EventKind::claimed, .store = store});
        return std::exchange(lines_, {});
    }

    ManualClock clock_;
    std::vector<std::string> lines_;
    LogObserver log_{{.write =
                          [this](LogLevel level, std::string_view text) {
                              lines_.push_back(std::string(to_string(level)).append(" ") +=
                                               std::string(text));
                          },
                      .summary_every = 0,
                      .clock = &clock_}};
};

TEST_F(Outage, IsOneLineAMinuteAndOneWhenItIsOver) {
    EXPECT_THAT(fail("main", "claim"),
                ElementsAre("ERROR OUTBOX_STORE_FAIL store=main operation=claim error=gone"));
    for (int i = 0; i < 50; ++i) {
        clock_.pass(1s);
        EXPECT_THAT(fail("main", i % 2 == 0 ? "settle" : "claim"), IsEmpty());
    }
    clock_.pass(10s);
    EXPECT_THAT(fail("main", "extend"),
                ElementsAre("ERROR OUTBOX_STORE_FAIL store=main operation=extend error=gone "
                            "failures=51 outage_ms=60000.000"));
    clock_.pass(5s);
    EXPECT_THAT(claim("main"),
                ElementsAre("INFO OUTBOX_STORE_BACK store=main failures=52 outage_ms=65000.000"));
    EXPECT_THAT(claim("main"), IsEmpty());
    EXPECT_THAT(fail("main", "claim"),
                ElementsAre("ERROR OUTBOX_STORE_FAIL store=main operation=claim error=gone"));
}

TEST_F(Outage, OfOneStoreSilencesNoOther) {
    fail("main", "claim");
    EXPECT_THAT(fail("other", "claim"), testing::SizeIs(1));
    EXPECT_THAT(claim("third"), IsEmpty());
}

TEST_F(Outage, OfSomethingElseThanClaimsIsNotOverWithAClaim) {
    EXPECT_THAT(fail("main", "listen"), testing::SizeIs(1));
    EXPECT_THAT(claim("main"), IsEmpty());
    EXPECT_THAT(fail("main", "listen"), IsEmpty());
    clock_.pass(60s);
    EXPECT_THAT(fail("main", "listen"),
                ElementsAre("ERROR OUTBOX_STORE_FAIL store=main operation=listen error=gone"));
}

}  // namespace
}  // namespace postroom::outages_test
