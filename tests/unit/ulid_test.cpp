#include "base/ulid.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"

namespace postroom::base::ulid_test {
namespace {

using std::chrono::milliseconds;

class FakeClock final : public Clock {
public:
    explicit FakeClock(std::int64_t milliseconds_since_epoch = 1'469'922'850'259) {
        set(milliseconds_since_epoch);
    }
    Instant now() const override { return now_; }
    void set(std::int64_t count) { now_ = Instant{milliseconds{count}}; }

private:
    Instant now_;
};

// Gives the numbers it was built with, then zeros.
class ScriptedRandom final : public Random {
public:
    ScriptedRandom(std::initializer_list<std::uint64_t> numbers) : numbers_(numbers) {}
    std::uint64_t next() override {
        if (numbers_.empty()) return 0;
        const std::uint64_t number = numbers_.front();
        numbers_.pop_front();
        return number;
    }

private:
    std::deque<std::uint64_t> numbers_;
};

constexpr std::uint64_t all_ones = ~std::uint64_t{0};
const std::string time_part = "01ARZ3NDEK";       // 1469922850259
const std::string next_time_part = "01ARZ3NDEM";  // 1469922850260

TEST(Ulid, EncodesKnownVectors) {
    EXPECT_EQ(encode_ulid({}), "00000000000000000000000000");
    EXPECT_EQ(encode_ulid({ulid_milliseconds_max, 0xFFFF, all_ones}), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    EXPECT_EQ(encode_ulid({1'469'918'176'385, 0, 0}), "01ARYZ6S410000000000000000");
    EXPECT_EQ(encode_ulid({1'469'922'850'259, 0, 1}), "01ARZ3NDEK0000000000000001");
    EXPECT_EQ(encode_ulid({1'469'922'850'259, 0x0123, 0x456789ABCDEF0123}),
              "01ARZ3NDEK04HMASW9NF6YY093");
}

TEST(Ulid, RefusesATimeOfMoreThan48Bits) {
    EXPECT_THROW(encode_ulid({ulid_milliseconds_max + 1, 0, 0}), std::out_of_range);
}

TEST(UlidGenerator, StartsWithTheMillisecondOfTheClock) {
    const FakeClock clock;
    SeededRandom random(1);
    UlidGenerator generator(clock, random);
    const std::string id = generator.next();
    EXPECT_EQ(id.size(), ulid_length);
    EXPECT_EQ(id.substr(0, 10), time_part);
}

TEST(UlidGenerator, GrowsWithinOneMillisecond) {
    const FakeClock clock;
    SeededRandom random(2);
    UlidGenerator generator(clock, random);
    std::string last = generator.next();
    for (int i = 0; i < 10'000; ++i) {
        const std::string id = generator.next();
        ASSERT_GT(id, last);
        ASSERT_EQ(id.substr(0, 10), time_part);
        last = id;
    }
}

TEST(UlidGenerator, CarriesFromTheLow64BitsIntoTheHigh16) {
    const FakeClock clock;
    ScriptedRandom random{std::uint64_t{7} << 48, all_ones};  // then a step of one
    UlidGenerator generator(clock, random);
    EXPECT_EQ(generator.next(), encode_ulid({1'469'922'850'259, 7, all_ones}));
    EXPECT_EQ(generator.next(), encode_ulid({1'469'922'850'259, 8, 0}));
}

TEST(UlidGenerator, OverflowMovesToTheNextMillisecond) {
    const FakeClock clock;
    ScriptedRandom random{all_ones, all_ones};
    UlidGenerator generator(clock, random);
    EXPECT_EQ(generator.next(), time_part + "ZZZZZZZZZZZZZZZZ");
    EXPECT_EQ(generator.next(), next_time_part + "0000000000000000");
    EXPECT_EQ(generator.next(), next_time_part + "0000000000000001");
}

TEST(UlidGenerator, ClockGoingBackwardsKeepsTheLastMillisecond) {
    FakeClock clock;
    SeededRandom random(3);
    UlidGenerator generator(clock, random);
    const std::string before = generator.next();
    clock.set(1'469'922'850'259 - 3'600'000);
    const std::string during = generator.next();
    EXPECT_GT(during, before);
    EXPECT_EQ(during.substr(0, 10), time_part);
    clock.set(1'469'922'850'260);
    EXPECT_EQ(generator.next().substr(0, 10), next_time_part);
}

TEST(UlidGenerator, RefusesATimeThatAUlidCannotHold) {
    FakeClock clock(-1);
    SeededRandom random(4);
    UlidGenerator generator(clock, random);
    EXPECT_THROW(generator.next(), std::out_of_range);
    clock.set(static_cast<std::int64_t>(ulid_milliseconds_max) + 1);
    EXPECT_THROW(generator.next(), std::out_of_range);
}

TEST(UlidGenerator, RefusedTimeLeavesItUsable) {
    FakeClock clock(static_cast<std::int64_t>(ulid_milliseconds_max) + 1);
    SeededRandom random(4);
    UlidGenerator generator(clock, random);
    EXPECT_THROW(generator.next(), std::out_of_range);
    clock.set(1'469'922'850'259);
    EXPECT_EQ(generator.next().substr(0, 10), time_part);
}

TEST(UlidGenerator, ThreadsNeverGetTheSameAndEachSeesThemGrow) {
    const FakeClock clock;
    SystemRandom random;
    UlidGenerator generator(clock, random);
    std::array<std::vector<std::string>, 4> made;
    {
        std::vector<std::jthread> threads;
        for (auto& mine : made)
            threads.emplace_back([&generator, &mine] {
                for (int i = 0; i < 2'000; ++i) mine.push_back(generator.next());
            });
    }
    std::set<std::string> all;
    for (const auto& mine : made) {
        EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
        all.insert(mine.begin(), mine.end());
    }
    EXPECT_EQ(all.size(), 8'000u);
}

// Goal: a forked child that goes on with its parent's generator makes other message ids.
// Method: freeze the clock, so that both continue from the same last value.
TEST(UlidGenerator, ForkedChildMakesOtherIds) {
    const FakeClock clock;
    SystemRandom random;
    UlidGenerator generator(clock, random);
    generator.next();
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const std::string id = generator.next();
        _exit(write(pipe_ends[1], id.data(), id.size()) == ssize_t{ulid_length} ? 0 : 1);
    }
    const std::string mine = generator.next();
    std::string theirs(ulid_length, '\0');
    EXPECT_EQ(read(pipe_ends[0], theirs.data(), theirs.size()), ssize_t{ulid_length});
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_NE(mine, theirs);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

}  // namespace
}  // namespace postroom::base::ulid_test
