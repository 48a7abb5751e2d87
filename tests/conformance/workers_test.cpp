// Many workers on one queue: none is given what another holds, and nothing is left behind.
#include <atomic>
#include <mutex>
#include <set>

#include "conformance/law.hpp"
#include "support/scale.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

constexpr int worker_count = 8;

TEST_P(WorkersLaw, OBX_084_OBX_081_IBX_106_IBX_103_ConcurrentWorkersNeverHoldTheSameMessage) {
    const std::size_t total = scaled(2000, 400);
    put_many(total);
    std::mutex mutex;
    std::set<WorkItemId> claimed;
    std::size_t doubles = 0;
    in_parallel(worker_count, [&](int) {
        const OwnerToken owner = OwnerToken::generate();
        while (true) {
            const std::vector<Message> batch = work().claim(owner, long_lease, 25);
            if (batch.empty()) return;
            const std::lock_guard lock(mutex);
            for (const Message& message : batch)
                if (!claimed.insert(message.id).second) ++doubles;
        }
    });
    EXPECT_EQ(doubles, 0U);
    EXPECT_THAT(claimed, SizeIs(total));
}

TEST_P(WorkersLaw, OBX_083_OBX_082_IBX_105_IBX_104_ConcurrentProcessesDrainOneQueue) {
    const std::size_t total = scaled(1000, 200);
    put_many(total);
    const std::unique_ptr<Store> second = sandbox().reopen();
    const auto second_face = face(*second, {});
    std::atomic<std::size_t> done = 0;
    in_parallel(worker_count, [&](int i) {
        const WorkQueue& mine = i % 2 == 0 ? work() : *second_face;
        const OwnerToken owner = OwnerToken::generate();
        while (true) {
            const std::vector<Message> batch = mine.claim(owner, long_lease, 10);
            if (batch.empty()) return;
            for (const Settled settled : mine.ack(leases_of(batch)))
                done += settled == Settled::done ? 1 : 0;
        }
    });
    EXPECT_EQ(done, total);
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(WorkersLaw, OBX_099_IBX_121_WritersAndWorkersRunAtTheSameTime) {
    const int per_writer = static_cast<int>(scaled(250, 40));
    constexpr int writers = 4;
    std::atomic<int> done = 0;
    work();
    std::mutex naming;  // put() numbers its messages
    in_parallel(worker_count, [&](int i) {
        if (i < writers) {
            for (int n = 0; n < per_writer; n += 5) {
                const std::lock_guard lock(naming);
                put_many(5);
            }
            return;
        }
        const OwnerToken owner = OwnerToken::generate();
        const auto give_up = std::chrono::steady_clock::now() + 200s;
        while (done < writers * per_writer && std::chrono::steady_clock::now() < give_up) {
            const std::vector<Message> batch = work().claim(owner, long_lease, 10);
            for (const Settled settled : work().ack(leases_of(batch)))
                done += settled == Settled::done ? 1 : 0;
        }
    });
    EXPECT_EQ(done, writers * per_writer);
    EXPECT_THAT(claim(), IsEmpty());
}

// A message that expired is taken over by exactly one of those who want it.
TEST_P(WorkersLaw, ExpiredLeasesAreTakenOverOnceByConcurrentWorkers) {
    constexpr std::size_t total = 40;
    put_many(total);
    ASSERT_THAT(claim(me, total, short_lease), SizeIs(total));
    pass(after_short_lease);
    std::mutex mutex;
    std::multiset<WorkItemId> taken;
    in_parallel(worker_count, [&](int i) {
        const OwnerToken owner = OwnerToken::generate();
        if (i % 4 == 0) work().reap_expired();
        for (int n = 0; n < 10; ++n) {
            const std::vector<Message> batch = work().claim(owner, long_lease, 7);
            const std::lock_guard lock(mutex);
            for (const Message& message : batch) {
                EXPECT_EQ(message.lost_count, 1U);
                taken.insert(message.id);
            }
        }
    });
    EXPECT_THAT(taken, SizeIs(total));
    EXPECT_THAT(std::set<WorkItemId>(taken.begin(), taken.end()), SizeIs(total));
}

TEST_P(WorkersLaw, OneOfManyConcurrentAcksOfALeaseCounts) {
    put();
    const std::vector<Lease> lease = leases_of(claim_one());
    std::atomic<int> done = 0;
    in_parallel(worker_count, [&](int) {
        if (work().ack(lease).at(0) == Settled::done) ++done;
    });
    EXPECT_EQ(done, 1);
}

TEST_P(WorkersLaw, TwoStoresOnOneDatabaseSeeTheSameQueue) {
    const std::unique_ptr<Store> second = sandbox().reopen();
    const auto there = face(*second, {});
    const WorkItemId id = put();
    const std::vector<Message> claimed = there->claim(other, long_lease, 10);
    ASSERT_THAT(claimed, SizeIs(1));
    EXPECT_EQ(claimed[0].id, id);
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_EQ(get(id).lease->owner, other);
    EXPECT_THAT(work().ack(leases_of(claimed)), testing::ElementsAre(Settled::done));
}

}  // namespace
}  // namespace postroom::test
