// Dispatchers in processes of their own, on one store: stopped, killed, aborted by their handlers.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include "chaos/chaos_test.hpp"
#include "chaos/handlings.hpp"
#include "chaos/kill_run.hpp"
#include "postroom/dispatcher.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/scale.hpp"
#include "support/stop_process.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::IsEmpty;
using testing::Le;
using testing::Pair;
using testing::SizeIs;
using SteadyClock = std::chrono::steady_clock;

constexpr auto lease = 4000ms;
// Where nobody may lose it, however long a busy machine holds up a renewal.
constexpr auto safe_lease = 10'000ms;

double seconds_since(SteadyClock::time_point begin) {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

ChildProcess start_dispatcher(const std::string& url, const std::filesystem::path& journal,
                              std::chrono::milliseconds its_lease = lease) {
    ChildProcess child({.program = program_path("dispatch_child"),
                        .arguments = {url, journal.string(), std::to_string(its_lease / 1ms)}});
    if (child.read_line(60s) != "ready") throw std::runtime_error("dispatch_child did not start");
    return child;
}

void fill(const Outbox& outbox, std::size_t count, const char* topic) {
    outbox.enqueue_all(std::vector<NewMessage>(count, {.topic = topic, .payload = "{}"}));
}

bool all_settled(const Outbox& outbox, std::chrono::milliseconds timeout) {
    const auto settled = [&] {
        const Counts counts = outbox.counts();
        return counts.ready + counts.in_progress == 0;
    };
    return wait_until(settled, timeout, 20ms);
}

std::uint64_t done(ChaosDatabase& database) {
    return database.count("SELECT count(*) FROM " + database.table("outbox") + " WHERE status = 2");
}

void expect_clean_end(ChildProcess& child) {
    child.close_input();
    const std::optional<ExitStatus> end = child.wait(60s);
    EXPECT_TRUE(end && end->success());
}

TEST_P(DispatcherProcessTest, TwoProcessesNeverHandleAMessageAtTheSameTime) {
    const std::size_t quick = scaled(4000, 600);
    const std::size_t parts = 4;
    const std::unique_ptr<Store> store = open();
    const Outbox outbox(*store);
    const std::filesystem::path journal = folder() / "journal";
    ChildProcess one = start_dispatcher(database().url(), journal, safe_lease);
    ChildProcess two = start_dispatcher(database().url(), journal, safe_lease);
    // Until both have had something, and each part comes when the one before is under way.
    const auto both_took_part = [&] { return Handlings::read(journal).shares().size() == 2; };
    std::size_t count = 0;
    for (std::size_t part = 0; part < parts || (part < 10 * parts && !both_took_part()); ++part) {
        if (part < parts) fill(outbox, 1, "long");
        fill(outbox, quick / parts, "quick");
        count += quick / parts + (part < parts ? 1 : 0);
        std::this_thread::sleep_for(1s);
    }
    EXPECT_TRUE(all_settled(outbox, 120s));
    expect_clean_end(one);
    expect_clean_end(two);

    const Handlings seen = Handlings::read(journal);
    EXPECT_THAT(seen.overlaps(), IsEmpty());
    EXPECT_THAT(seen.of_message, SizeIs(count));
    EXPECT_EQ(done(database()), count);
    EXPECT_THAT(seen.shares(), SizeIs(2)) << "both took part";
    EXPECT_GT(std::chrono::nanoseconds{seen.longest_nanoseconds()}, safe_lease);
    fmt::print("{} messages, the longest handler {} ms under a lease of {} ms, {} handled again\n",
               seen.of_message.size(), seen.longest_nanoseconds() / 1'000'000, safe_lease / 1ms,
               seen.repeated());
}

// Whether nobody holds up those who want to write. A process may be stopped while it has SQLite's
// one write lock, and then nobody can take over anything.
bool others_can_write(const std::string& url) {
    const std::unique_ptr<Store> store =
        open_store(url, {.pool_max = 1, .statement_timeout = lease / 2, .conflict_retries = 0});
    try {
        const std::unique_ptr<Transaction> tx = store->begin();
        Outbox(*store).enqueue(*tx, {.topic = "quick", .payload = "{}"});
        tx->rollback();
        return true;
    } catch (const Error&) {
        return false;
    }
}

void stop_between_writes(ChildProcess& child, const std::string& url) {
    for (int tries = 0; tries < 50; ++tries) {
        stop_process(child.pid());
        if (others_can_write(url)) return;
        child.kill(SIGCONT);
        std::this_thread::sleep_for(10ms);
    }
    throw std::runtime_error("the child is always in the middle of a write");
}

TEST_P(DispatcherProcessTest, AStoppedProcessLosesItsLeaseAndItsLateAckChangesNothing) {
    const std::size_t rounds = scaled(30, 3);
    const std::unique_ptr<Store> store = open();
    const Outbox outbox(*store);
    const std::filesystem::path journal = folder() / "journal";
    for (std::size_t round = 0; round < rounds; ++round) {
        ChildProcess first = start_dispatcher(database().url(), journal);
        const EnqueueResult sent = outbox.enqueue({.topic = "stall", .payload = "{}"});
        ASSERT_EQ(first.read_line(30s), "holding");
        std::this_thread::sleep_for(round % 3 * lease / 2);  // renewed before, except at first
        stop_between_writes(first, database().url());
        const auto stopped = SteadyClock::now();
        ChildProcess second = start_dispatcher(database().url(), journal);
        ASSERT_TRUE(all_settled(outbox, 30s)) << "nobody took over";
        std::this_thread::sleep_until(stopped + 3 * lease / 2);
        first.kill(SIGCONT);
        first.write_line("now");
        const auto late = [&] {
            return Handlings::read(journal).late.contains(sent.message_id.str());
        };
        EXPECT_TRUE(wait_until(late, 30s)) << "the first did not settle";
        expect_clean_end(first);
        expect_clean_end(second);
    }
    const Handlings seen = Handlings::read(journal);
    EXPECT_THAT(seen.late, SizeIs(rounds));
    EXPECT_THAT(seen.late, Each(Pair(testing::_, "lost")));
    EXPECT_EQ(seen.repeated(), rounds) << "each was handled by both";
    EXPECT_EQ(done(database()), rounds);
    EXPECT_EQ(outbox.counts().dead, 0U);
    fmt::print("{} processes stopped past their lease: {} late outcomes refused, {} done\n", rounds,
               seen.late.size(), done(database()));
}

TEST_P(DispatcherProcessTest, OnePoisonMessageAmongAThousandEndsDeadAlone) {
    const std::size_t count = scaled(1000, 200);
    const std::unique_ptr<Store> store = open();
    const Outbox outbox(*store);
    fill(outbox, count / 2, "quick");
    const EnqueueResult poison = outbox.enqueue({.topic = "poison", .payload = "{}"});
    fill(outbox, count - count / 2 - 1, "quick");

    const auto begin = SteadyClock::now();
    const std::uint32_t crash_limit = DispatcherOptions{}.crash_limit;
    std::uint32_t aborts = 0;
    bool settled = false;
    while (!settled && aborts <= 2 * crash_limit) {
        ChildProcess child = start_dispatcher(database().url(), folder() / "journal");
        wait_until([&] { return !child.running() || (settled = all_settled(outbox, 0ms)); }, 120s,
                   20ms);
        if (settled) {
            expect_clean_end(child);
        } else {
            ASSERT_EQ(child.wait(1s), (ExitStatus{.code = {}, .signal = SIGABRT}));
            ++aborts;
        }
    }
    fmt::print("{} messages, one of them poison: {} processes lost, all settled after {:.1f} s\n",
               count, aborts, seconds_since(begin));
    EXPECT_TRUE(settled);
    // Once among all, once among suspects, and then alone until the limit is passed. A machine that
    // stood still for a lease would have cost one too.
    const Message dead = outbox.get(poison.id).value();
    EXPECT_EQ(dead.dead_reason, DeadReason::crash_limit);
    EXPECT_EQ(dead.lost_count, crash_limit + 1);
    EXPECT_THAT(aborts, AllOf(Ge(crash_limit), Le(crash_limit + 1)));
    EXPECT_EQ(outbox.counts().dead, 1U);
    EXPECT_EQ(done(database()), count - 1);
}

TEST_P(DispatcherProcessTest, MemoryStaysBoundedWhileAHandlerIsStopped) {
    constexpr std::uint64_t per_second = 5000;
    constexpr std::uint64_t growth_max = std::uint64_t{10} * 1024 * 1024;
    const std::uint64_t seconds = scaled(60, 6);
    ChildProcess child(
        {.program = program_path("flood_child"),
         .arguments = {database().url(), std::to_string(per_second), std::to_string(seconds)}});
    std::string word;
    std::uint64_t enqueued = 0;
    std::uint64_t handed_over = 0;
    std::uint64_t warm = 0;
    std::uint64_t most = 0;
    double took = 0;
    std::istringstream flood(child.read_line(std::chrono::seconds{seconds} + 300s).value_or(""));
    flood >> word >> enqueued >> took >> handed_over >> warm >> most;
    ASSERT_EQ(word, "flood");
    std::uint64_t handled = 0;
    double drained_after = 0;
    std::istringstream drained(child.read_line(600s).value_or(""));
    drained >> word >> handled >> drained_after;
    ASSERT_EQ(word, "drained");
    fmt::print(
        "{} enqueued in {:.1f} s ({:.0f}/s), {} of them handed over; resident {:.1f} MiB after "
        "warm-up, at most {:.1f} MiB later; {} drained in {:.1f} s\n",
        enqueued, took, static_cast<double>(enqueued) / took, handed_over,
        static_cast<double>(warm) / 1048576, static_cast<double>(most) / 1048576, handled,
        drained_after);
    EXPECT_EQ(child.wait(30s), (ExitStatus{.code = 0, .signal = {}}));
    EXPECT_GT(warm, 0U);
    EXPECT_LT(most, warm + growth_max);
    EXPECT_GT(handed_over, 0U);
    EXPECT_GE(handled, enqueued);
    // Far slower than any drain, and far quicker than a poller that sleeps while messages wait: it
    // would claim ten in a second.
    EXPECT_LT(drained_after, 60 + static_cast<double>(enqueued) / 50);
    EXPECT_EQ(done(database()), enqueued);
}

TEST_P(DispatcherProcessTest, SigkillsOfADispatchingProcessLoseNothing) {
    const std::uint64_t kills = scaled(50, 12);
    database().sql("CREATE TABLE business_order (id varchar(64) PRIMARY KEY)");
    const auto arguments = [&](const char* mode, std::uint64_t number) {
        return std::vector<std::string>{mode, database().url(),
                                        (folder() / std::to_string(number)).string(),
                                        std::to_string(seed() * 1000 + number), "300"};
    };
    Pack children("order_child", 2, seed(),
                  [&](std::uint64_t number) { return arguments("work", number); });
    kill_until_something_was_met(children, folder().path(), kills, 100ms, GetParam().patience);
    children.kill_all();
    database().await_end_of_killed();
    ChildProcess drain(
        {.program = program_path("order_child"), .arguments = arguments("drain", 999)});
    // What was lost with a process is handled one at a time.
    EXPECT_EQ(drain.wait(300s), (ExitStatus{.code = 0, .signal = {}}));

    const History history(folder().path());
    expect_promises_kept(fmt::format("{} kills, seed {}, {} handed over", children.kills(), seed(),
                                     history.handed_over()),
                         history, database(), false);
    EXPECT_THAT(history.errors(), IsEmpty());
    EXPECT_TRUE(met_something(history, kills));
    EXPECT_GT(history.handed_over(), 0U);
}

}  // namespace
}  // namespace postroom::test
