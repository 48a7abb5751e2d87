// Upkeep behind a backlog.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "conformance/law.hpp"
#include "postroom/dispatcher.hpp"
#include "queue/hot_path.hpp"
#include "support/scale.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
// Goal: a message born leased whose writer died is found soon after its lease is over, whatever
// waits in front of it. Dispatchers reap every few seconds. Method: many rows in front of it, and
// more numbers than a reap goes over one by one.
TEST_P(LargeQueueLaw, OneReapFindsAMessageBornLeasedBehindABacklog) {
    const std::vector<NewMessage> first(20, {.topic = "t", .payload = "p"});
    outbox().enqueue_all(first);
    const std::string live = table("outbox_live");
    for (std::size_t count = first.size(); count < scaled(1'200'000, 20'000); count *= 2)
        sql(fmt::format("INSERT INTO {0} (topic, payload) SELECT topic, payload FROM {0}", live));
    const std::string far_ahead = sql_sandbox().number_from(4'000'000);
    if (!far_ahead.empty()) sql(far_ahead);
    const NewMessage message{.topic = "t", .payload = "p", .message_id = MessageId("born")};
    const BornLease born{.owner = me, .lease_id = LeaseId(77), .lease = short_lease};
    const WorkItemId id = store().enqueue(nullptr, std::span(&message, 1), &born).at(0).id;
    pass(after_short_lease);
    EXPECT_EQ(store().reap(Queue::outbox, 1000, {}), 1U);
    EXPECT_EQ(get(id).lost_count, 1U);
    EXPECT_LE(DispatcherOptions{}.reap_interval, 5s);
}

}  // namespace

}  // namespace postroom::test
