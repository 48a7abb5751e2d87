// A claimer that is stopped in the middle of a claim, its payloads unread, holds nobody up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "chaos/postgres/database.hpp"
#include "postroom/outbox.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t message_count = 60;
constexpr std::size_t payload_bytes = 500'000;  // a claim of 40: more than all buffers between hold
// One that is held up waits for as long as the claimer stands still.
constexpr auto bound = 20s;
constexpr auto held_up = 2 * bound;

void fill(const Outbox& outbox) {
    const std::string payload(payload_bytes, 'p');
    for (std::size_t i = 0; i < message_count; ++i)
        outbox.enqueue({.topic = "big", .payload = payload});
}

// How long another claimer takes, and its messages given back.
SteadyClock::duration time_of_claim(const Outbox& outbox) {
    const auto begin = SteadyClock::now();
    const std::vector<Message> messages = outbox.claim(outbox.owner(), 5min, 5);
    const auto took = SteadyClock::now() - begin;
    outbox.release(messages);
    return took;
}

TEST(PostgresFrozenClaimerTest, AStoppedClaimerDoesNotBlockOthers) {
    PostgresChaosDatabase database;
    open_schema(database.url())->deploy();
    const std::unique_ptr<Store> store =
        open_store(database.url(), {.pool_max = 1, .statement_timeout = held_up});
    const Outbox outbox(*store);
    fill(outbox);
    ChildProcess child(
        {.program = program_path("claim_child"), .arguments = {database.url(), "40"}});
    ASSERT_EQ(child.read_line(60s), "ready");

    std::mt19937_64 random(7);
    SteadyClock::duration worst{};
    const std::uint64_t freezes = scaled(200, 40);
    for (std::uint64_t i = 0; i < freezes; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds{random() % 60'000});
        ASSERT_TRUE(child.running());
        child.kill(SIGSTOP);
        worst = std::max(worst, time_of_claim(outbox));
        child.kill(SIGCONT);
    }
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(worst).count();
    fmt::print("{} freezes: the slowest claim beside a stopped claimer took {} ms\n", freezes,
               milliseconds);
    EXPECT_LT(worst, bound);
}

}  // namespace
}  // namespace postroom::test
