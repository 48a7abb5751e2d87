#include "chaos/kill_run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "support/wait_until.hpp"

namespace postroom::test {

using namespace std::chrono_literals;
using testing::IsEmpty;

namespace {

constexpr std::size_t pack_size = 4;
constexpr auto killed_lease = 60ms;
// Of the one that nobody kills: it loses none of them to a machine that stands still for a while.
constexpr auto drain_lease = 5s;

}  // namespace

KillRun::KillRun(ChaosDatabase& database, std::filesystem::path journals, std::uint64_t seed)
    : database_(database),
      journals_(std::move(journals)),
      seed_(seed),
      children_("queue_child", pack_size, seed, [this](std::uint64_t number) {
          // Two that do both, one that only writes, one that only works.
          static constexpr const char* modes[] = {"both", "enqueue", "both", "claim"};
          return arguments(modes[number % 4], number, killed_lease);
      }) {}

std::vector<std::string> KillRun::arguments(const std::string& mode, std::uint64_t number,
                                            std::chrono::milliseconds its_lease) const {
    return {mode, database_.url(), (journals_ / std::to_string(number)).string(),
            std::to_string(seed_ * 100'000 + number), std::to_string(its_lease.count())};
}

History KillRun::finish() {
    children_.kill_all();
    database_.await_end_of_killed();
    ChildProcess drain({.program = program_path("queue_child"),
                        .arguments = arguments("drain", 99'999, drain_lease)});
    const std::optional<ExitStatus> end = drain.wait(120s);
    if (!end || !end->success()) throw std::runtime_error("the queue could not be drained");
    return History(journals_);
}

bool met_something(const History& history, std::uint64_t kills) {
    return history.confirmed() > kills && history.rolled_back() > 0 &&
           torture::redelivered(history.holds()) > 0;
}

void kill_until_something_was_met(Pack& children, const std::filesystem::path& journals,
                                  std::uint64_t kills, Duration pause,
                                  std::chrono::milliseconds patience) {
    constexpr std::uint64_t times_max = 20;
    while (children.kills() < kills ||
           (children.kills() < times_max * kills && !met_something(History(journals), kills))) {
        std::this_thread::sleep_for(pause);
        if (patience > 0ms) {
            const std::uint64_t confirmed = History(journals).confirmed();
            wait_until([&] { return History(journals).confirmed() > confirmed; }, patience, 50ms);
        }
        children.kill_one();
    }
}

void expect_promises_kept(const std::string& title, const History& history, ChaosDatabase& database,
                          bool leases_survive) {
    EXPECT_THAT(history.broken_promises(database), IsEmpty());
    EXPECT_THAT(broken_links(database, "outbox"), IsEmpty());
    EXPECT_THAT(database.damage(), IsEmpty());
    if (leases_survive) {
        EXPECT_THAT(torture::double_holders(history.holds()), IsEmpty());
    }
    fmt::print(
        "{}: {} enqueued, {} in doubt, {} rolled back, {} acknowledged, {} redelivered, {} leases "
        "lost to "
        "others, {} messages lost\n",
        title, history.confirmed(), history.in_doubt(), history.rolled_back(), history.acked(),
        torture::redelivered(history.holds()), history.lost_leases(), history.lost(database));
}

}  // namespace postroom::test
