// How a claim shares its batch: queue/claim_passes.hpp is the rule, and every store follows it.
#include <map>

#include "conformance/law.hpp"
#include "queue/claim_passes.hpp"

namespace postroom::test {
namespace {

using Bands = std::map<std::string, std::size_t>;

// What a claim takes of `left`, by the rule. Urgent messages were put before the fresh ones, so
// that a claim by age, for which they are fresh too, meets them first.
Bands shared_by_rule(Bands& left, std::uint32_t batch, std::uint64_t claim_number) {
    const ClaimPasses passes = claim_passes(batch, claim_number);
    Bands taken;
    std::size_t leased = 0;
    const auto take = [&](const std::string& band, std::uint32_t ceiling) {
        while (leased < ceiling && left[band] > 0) {
            --left[band];
            ++taken[band];
            ++leased;
        }
    };
    take("urgent", passes.urgent);
    take("keyed", passes.keyed);
    take("due", passes.due);
    take("low", passes.low);
    take("urgent", batch);
    take("fresh", batch);
    take("keyed", passes.keyed_again);
    take("due", batch);
    take("keyed", batch);
    take("low", batch);
    return taken;
}

Bands bands_of(const std::vector<Message>& messages) {
    Bands bands;
    for (const Message& message : messages) ++bands[message.topic];
    return bands;
}

// Goal: the same messages are shared in the same way on every store.
// Method: messages of every band; claim until none is left, and compare each batch with the rule.
TEST_P(PriorityLaw, ABatchIsSharedBetweenTheBandsByOneRule) {
    Bands left{{"urgent", 5}, {"keyed", 16}, {"due", 16}, {"low", 12}, {"fresh", 24}};
    put_many(left["due"], {.topic = "due"});
    work().release(leases_of(claim()));
    for (std::size_t i = 0; i < left["keyed"]; ++i)
        put({.topic = "keyed", .ordering_key = "key " + std::to_string(i)});
    put_many(left["low"], {.topic = "low", .priority = -1});
    put_many(left["urgent"], {.topic = "urgent", .priority = 5});
    put_many(left["fresh"], {.topic = "fresh"});
    pass(std::chrono::milliseconds{2});

    constexpr std::uint32_t batch = 8;
    std::uint64_t claim_number = 1;  // the first one was for the release
    for (std::vector<Message> claimed; !(claimed = claim(batch)).empty(); ++claim_number) {
        EXPECT_EQ(bands_of(claimed), shared_by_rule(left, batch, claim_number))
            << "claim " << claim_number;
    }
    EXPECT_EQ(claim_number, 11U);
}

}  // namespace
}  // namespace postroom::test
