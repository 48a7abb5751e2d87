#include "base/random.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>
#include <thread>
#include <vector>

namespace postroom::base::random_test {
namespace {

TEST(SeededRandom, GivesTheKnownNumbersOfItsSeed) {
    SeededRandom random(1234567);
    EXPECT_EQ(random.next(), 6457827717110365317u);
    EXPECT_EQ(random.next(), 3203168211198807973u);
    EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(SeededRandom, SeedsDiffer) {
    SeededRandom a(1);
    SeededRandom b(2);
    EXPECT_NE(a.next(), b.next());
}

TEST(SystemRandom, NumbersDoNotRepeatAcrossChunksThreadsOrObjects) {
    constexpr std::size_t per_thread = 1'000;
    std::array<std::vector<std::uint64_t>, 4> drawn;
    {
        SystemRandom shared;
        std::vector<std::jthread> threads;
        for (auto& mine : drawn)
            threads.emplace_back([&shared, &mine] {
                SystemRandom own;
                for (std::size_t i = 0; i < per_thread; ++i)
                    mine.push_back(i % 2 == 0 ? shared.next() : own.next());
            });
    }
    std::set<std::uint64_t> all;
    for (const auto& mine : drawn) all.insert(mine.begin(), mine.end());
    EXPECT_EQ(all.size(), drawn.size() * per_thread);
}

TEST(SystemRandom, EveryBitIsSometimesSetAndSometimesNot) {
    SystemRandom random;
    std::uint64_t ever_set = 0;
    std::uint64_t always_set = ~std::uint64_t{0};
    for (int i = 0; i < 1'000; ++i) {
        const std::uint64_t number = random.next();
        ever_set |= number;
        always_set &= number;
    }
    EXPECT_EQ(ever_set, ~std::uint64_t{0});
    EXPECT_EQ(always_set, 0u);
}

// Goal: parent and child never draw the same lease id or nonce.
// Method: draw once, so that a chunk is in memory, then fork and compare what both draw next.
TEST(SystemRandom, ForkedChildDrawsOtherNumbers) {
    using Numbers = std::array<std::uint64_t, 100>;
    const auto draw = [] {
        SystemRandom random;
        Numbers numbers{};
        for (std::uint64_t& number : numbers) number = random.next();
        return numbers;
    };
    SystemRandom().next();
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const Numbers numbers = draw();
        _exit(write(pipe_ends[1], numbers.data(), sizeof numbers) == ssize_t{sizeof numbers} ? 0
                                                                                             : 1);
    }
    const Numbers mine = draw();
    Numbers theirs{};
    EXPECT_EQ(::read(pipe_ends[0], theirs.data(), sizeof theirs), ssize_t{sizeof theirs});
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    std::set<std::uint64_t> all(mine.begin(), mine.end());
    all.insert(theirs.begin(), theirs.end());
    EXPECT_EQ(all.size(), mine.size() + theirs.size());
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

}  // namespace
}  // namespace postroom::base::random_test
