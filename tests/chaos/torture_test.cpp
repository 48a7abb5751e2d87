// The torture finds bugs: each of its acts is run on a store that has one, and on one that has
// none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/forwarding_store.hpp"
#include "postroom/open_store.hpp"
#include "support/temp_dir.hpp"
#include "torture/acts.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

struct OwnStore {
    std::unique_ptr<Store> own;
};

// A store with a bug; what is right of it is done by its own.
class BuggyStore : private OwnStore, public ForwardingStore {
public:
    explicit BuggyStore(std::unique_ptr<Store> store)
        : OwnStore{std::move(store)}, ForwardingStore(*own) {}
};

// Confirms messages that it does not store.
class LosesMessages final : public BuggyStore {
public:
    using BuggyStore::BuggyStore;
    std::vector<EnqueueResult> enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                       const BornLease* born) override {
        if (++calls_ % 3 == 0) return std::vector<EnqueueResult>(messages.size());
        return inner().enqueue(tx, messages, born);
    }

private:
    int calls_ = 0;
};

// Tells its caller a lease of double the length that others respect.
class LeasesEndEarly final : public BuggyStore {
public:
    using BuggyStore::BuggyStore;
    std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                               std::stop_token stop) override {
        ClaimRequest half = request;
        half.lease = request.lease / 2;
        std::vector<Message> messages = inner().claim(queue, half, stop);
        for (Message& message : messages) message.lease->locked_until += request.lease - half.lease;
        return messages;
    }
};

// Says that a message is done and leaves it where it is, every other time.
class ForgetsAcks final : public BuggyStore {
public:
    using BuggyStore::BuggyStore;
    std::vector<Settled> settle(TxContext* tx, Queue queue,
                                std::span<const Settlement> settlements) override {
        if (++calls_ % 2 == 0) return std::vector<Settled>(settlements.size(), Settled::done);
        return inner().settle(tx, queue, settlements);
    }

private:
    int calls_ = 0;
};

// Takes the failure of a message for its success.
class AcksFailures final : public BuggyStore {
public:
    using BuggyStore::BuggyStore;
    std::vector<Settled> settle(TxContext* tx, Queue queue,
                                std::span<const Settlement> settlements) override {
        std::vector<Settlement> changed(settlements.begin(), settlements.end());
        for (Settlement& settlement : changed) settlement = {.lease = settlement.lease};
        return inner().settle(tx, queue, changed);
    }
};

class TortureTest : public testing::Test {
protected:
    using ActFunction = torture::Act (*)(const torture::Plan&);

    template <class Wrapped>
    torture::Act run(ActFunction act) {
        return run(act, [](std::unique_ptr<Store> store) -> std::unique_ptr<Store> {
            return std::make_unique<Wrapped>(std::move(store));
        });
    }

    // Whether the torture says `what` of a store with that bug. When workers are killed is chance,
    // so a bug may need more than one run to show.
    template <class Wrapped>
    bool finds(const std::string& what, ActFunction act) {
        constexpr int runs_max = 5;
        for (int i = 0; i < runs_max; ++i)
            if (testing::Value(run<Wrapped>(act).broken, Contains(HasSubstr(what)))) return true;
        return false;
    }

    torture::Act run(ActFunction act,
                     const std::function<std::unique_ptr<Store>(std::unique_ptr<Store>)>& wrap) {
        const TempDir folder;
        const std::string url = "sqlite:" + (folder / "torture.db").string();
        {
            const std::unique_ptr<Store> store = open_store(url, {.deploy_schema = true});
            const std::unique_ptr<Transaction> tx = store->begin();
            tx->execute({.sql = "CREATE TABLE orders (id text PRIMARY KEY)"});
            tx->execute({.sql = "CREATE TABLE effects (source text, message_id text)"});
            tx->commit();
        }
        return act({.open = [&] { return wrap(open_store(url, {.pool_max = 4})); },
                    .orders_table = "orders",
                    .effects_table = "effects",
                    .folder = folder.path(),
                    .seed = 7,
                    .duration = 9s,
                    .lease = 300ms,
                    .check = [] {}});
    }
};

std::unique_ptr<Store> as_it_is(std::unique_ptr<Store> store) { return store; }

TEST_F(TortureTest, AStoreWithoutABugKeepsItsPromises) {
    EXPECT_THAT(run(&torture::queue_act, &as_it_is).broken, IsEmpty());
}

TEST_F(TortureTest, FindsMessagesThatWereLost) {
    EXPECT_TRUE(finds<LosesMessages>("committed, yet", &torture::queue_act));
}

TEST_F(TortureTest, FindsLeasesThatEndEarly) {
    EXPECT_TRUE(finds<LeasesEndEarly>("before the end of lease", &torture::queue_act));
}

TEST_F(TortureTest, FindsSecondEffects) {
    EXPECT_TRUE(finds<ForgetsAcks>("took effect", &torture::redelivery_act));
}

TEST_F(TortureTest, FindsFailuresThatCountAsDelivered) {
    EXPECT_TRUE(finds<AcksFailures>("refused-0: Done", &torture::dispatch_act));
}

}  // namespace
}  // namespace postroom::test
