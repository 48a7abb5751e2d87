// The JSON that databases keep of workers and failed attempts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_map.hpp"
#include "queue/record_json.hpp"

namespace postroom::record_json_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ArrayFromJson, KeepsElementsAsTheyAre) {
    EXPECT_THAT(base::array_from_json(R"( [ "a\n", 1, {"b": [2]}, null ] )").value(),
                ElementsAre("a\n", "1", R"({"b": [2]})", ""));
    EXPECT_THAT(base::array_from_json("[]").value(), IsEmpty());
    for (const char* const wrong : {"", "{}", "[", "[1", "[1,]", "[1] 2", "\"a\""})
        EXPECT_FALSE(base::array_from_json(wrong)) << wrong;
}

TEST(AttemptJson, ComesBackWithTheTimeOfTheDatabase) {
    const FailedAttempt given{.at = {},
                              .worker = OwnerToken::generate(),
                              .destination = "http://a \"b\"",
                              .outcome = Outcome::fail,
                              .error = std::string(attempt_error_chars_max + 1, 'e'),
                              .claimed_at = Instant{} + 300us,
                              .took = 1100us};
    std::string json = to_json(given);
    json.insert(1, R"("at": 1500, )");
    const std::vector<FailedAttempt> read = attempts_from_json("[" + json + ", 17]");
    ASSERT_THAT(read, SizeIs(1)) << "what is no attempt is left out";
    EXPECT_EQ(read[0].at, Instant{} + 1500us);
    EXPECT_EQ(read[0].worker, given.worker);
    EXPECT_EQ(read[0].destination, given.destination);
    EXPECT_EQ(read[0].outcome, Outcome::fail);
    EXPECT_EQ(read[0].error.size(), attempt_error_chars_max);
    EXPECT_EQ(read[0].claimed_at, given.claimed_at);
    EXPECT_EQ(read[0].took, given.took);
    EXPECT_THAT(attempts_from_json("nonsense"), IsEmpty());
}

TEST(AttemptJson, OfAnOlderVersionTellsNeitherClaimNorDuration) {
    const std::vector<FailedAttempt> read = attempts_from_json(R"([{"at": 1500, "error": "e"}])");
    ASSERT_THAT(read, SizeIs(1));
    EXPECT_EQ(read[0].claimed_at, std::nullopt);
    EXPECT_EQ(read[0].took, std::nullopt);
}

TEST(WorkerJson, WhatIsMissingOrOfAnotherFormStaysAsItIs) {
    WorkerReport worker{.last_seen = Instant{} + 1h};
    read_json(worker, R"({"pid": "x", "started": -60000000, "circuits": 3})");
    EXPECT_EQ(worker.pid, 0);
    EXPECT_EQ(worker.started, Instant{} + 59min);
    EXPECT_EQ(worker.interval, Duration(5s));
    EXPECT_THAT(worker.circuits, IsEmpty());
    read_json(worker, "nonsense");
    EXPECT_EQ(worker.started, worker.last_seen);
}

}  // namespace
}  // namespace postroom::record_json_test
