// Law: a test that every backend must pass. Each suite is one area of the specification.
//
// The names carry the requirement they show: OBX_017_..., IBX_030_..., O12_..., S001_18_1_...,
// S000_5_... for what section 5 of the outbox specification demands without a number.
// tools/conformance_report.sh reads them.
//
// Laws of the work queue hold for both queues and run on each; they carry the numbers of both
// documents.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/sandbox.hpp"
#include "postroom/error.hpp"
#include "postroom/inbox.hpp"
#include "postroom/outbox.hpp"
#include "support/matchers.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {

// No test waits for the long lease to end, and no test minds when the short one ends early.
inline constexpr Duration long_lease = std::chrono::minutes{5};
inline constexpr Duration short_lease = std::chrono::milliseconds{50};
inline constexpr Duration after_short_lease = std::chrono::milliseconds{90};

// Where a law is put to the test.
struct Place {
    Backend backend;
    Queue queue = Queue::outbox;
    bool both_queues = false;  // the suite runs on both, so the name tells which
};

std::string place_name(const testing::TestParamInfo<Place>& info);
void PrintTo(const Place& place, std::ostream* out);

// A message for either queue.
struct Draft {
    std::string topic = "order.placed";
    std::string payload = "{}";
    std::optional<Instant> due_time = std::nullopt;
    std::int32_t priority = 0;
    std::optional<std::uint32_t> max_attempts = std::nullopt;
    std::string content_type = "application/json";
    Headers headers = {};
    std::optional<Instant> expires_at = std::nullopt;
    std::string ordering_key = {};
};

class Law : public testing::TestWithParam<Place> {
protected:
    // Opens the sandbox with other than the default options; before anything else.
    Sandbox& open(OpenOptions options);
    Sandbox& sandbox();
    Store& store() { return sandbox().store(); }
    Instant now() { return store().now(); }
    void pass(Duration duration) { sandbox().pass(duration); }
    // A sandbox on a database of its own.
    std::unique_ptr<Sandbox> elsewhere() const;

    Outbox& outbox();
    Inbox& inbox();

    // The queue of this place.
    Queue queue() const { return GetParam().queue; }
    WorkQueue& work();
    // Another face on the same store, with a policy of its own.
    std::unique_ptr<WorkQueue> face(const WorkQueueOptions& options) {
        return face(store(), options);
    }
    std::unique_ptr<WorkQueue> face(Store& store, const WorkQueueOptions& options) const;

    WorkItemId put(const Draft& draft = {});
    std::vector<WorkItemId> put_many(std::size_t count, const Draft& draft = {});

    std::vector<Message> claim(std::uint32_t batch = 100, Duration lease = long_lease);
    std::vector<Message> claim(const OwnerToken& owner, std::uint32_t batch = 100,
                               Duration lease = long_lease);
    // Claims one message, which must be there.
    Message claim_one(Duration lease = long_lease);
    Message get(const WorkItemId& id);
    // What became of a message that put() stored; by its key where it has lost its number, as those
    // of the inbox that are done.
    std::optional<Message> find(const WorkItemId& id);

    const OwnerToken me = OwnerToken::generate();
    const OwnerToken other = OwnerToken::generate();

private:
    std::unique_ptr<Sandbox> sandbox_;
    std::unique_ptr<Outbox> outbox_;
    std::unique_ptr<Inbox> inbox_;
    std::uint64_t put_count_ = 0;
    std::map<WorkItemId, InboxKey> put_keys_;
};

std::vector<Lease> leases_of(const std::vector<Message>& messages);
std::vector<WorkItemId> ids_of(const std::vector<Message>& messages);
std::vector<std::string> payloads_of(const std::vector<Message>& messages);
inline std::vector<Lease> leases_of(const Message& message) {
    return leases_of(std::vector{message});
}

// The Error that `act` throws; fails the test when it does not.
ErrorKind kind_thrown(const std::function<void()>& act);
// The type and text of whatever `act` throws; "nothing" when it does not.
std::string thrown(const std::function<void()>& act);

// Runs `body` in `count` threads that all start at the same moment; each gets its number.
void in_parallel(int count, const std::function<void(int)>& body);

// Runs a transaction of the caller's, and once more whenever the database has made it the victim of
// a deadlock, as callers have to.
void again_after_conflicts(const std::function<void()>& transaction);

// Both queues.
class ClaimLaw : public Law {};
class SettleLaw : public Law {};
class LeaseLaw : public Law {};
class RetryLaw : public Law {
protected:
    // What is abandoned through `by` for the n-th time waits for expected[n - 1].
    void expect_back_off(const WorkQueue& by, const std::vector<Duration>& expected);
};
class PriorityLaw : public Law {
protected:
    // Some that have failed once and are due again, then fresh ones, of the topic "fresh".
    void put_retrying_and_fresh(std::uint32_t retrying, std::uint32_t fresh) {
        put_many(retrying);
        work().abandon(leases_of(claim(retrying)), "x", std::chrono::milliseconds{1});
        put_many(fresh, {.topic = "fresh"});
        pass(std::chrono::milliseconds{5});
    }
};
class ClaimBytesLaw : public Law {};
class BytesLaw : public Law {};
class QueryLaw : public Law {};
class WorkersLaw : public Law {};
class OrderingLaw : public Law {
protected:
    // A message with an ordering key.
    WorkItemId put_in_line(const std::string& key, const std::string& payload);
    void put_line(const std::string& key, const std::vector<std::string>& payloads);
    std::vector<std::string> claimed_payloads(std::uint32_t batch = 100);
    // Claims one message, which must be there, and settles it.
    Settled settle_next(const Settlement& like);
    void ack_next() { settle_next({}); }
};
class RecordsLaw : public Law {
protected:
    StoreControls& controls() { return *controls_of(store()); }
    std::vector<FailedAttempt> attempts(const WorkItemId& id) {
        return controls().attempts(queue(), id);
    }
    Settled settle(const Settlement& settlement) {
        return store().settle(nullptr, queue(), std::vector{settlement}).front();
    }
};
class DoorbellLaw : public Law {
protected:
    // A bell of another store on the same database, which listens and has heard all there was.
    std::unique_ptr<Doorbell> listening();
    // Commits a message and rings, as a writer does.
    void put_and_ring(Doorbell& bell);

private:
    std::vector<std::unique_ptr<Store>> listeners_;
};
// Where the database tells the bells of its queues apart.
class DoorbellPerQueueLaw : public DoorbellLaw {};

// The outbox.
class EnqueueLaw : public Law {};
class BornLeaseLaw : public Law {};
class TransactionLaw : public Law {};
class IdempotencyLaw : public Law {};
class InputLaw : public Law {};
class HistoryLaw : public Law {};
class PollingLaw : public Law {};

// The inbox.
class DedupeLaw : public Law {};
class ReceiveLaw : public Law {};
class MarkLaw : public Law {};
class MessageIdLaw : public Law {};
class OnceLaw : public Law {};
class InboxInputLaw : public Law {};
class InboxPurgeLaw : public Law {};
class InboxOrderingLaw : public OrderingLaw {};

// What only a database with SQL has.
class SqlLaw : public Law {
protected:
    SqlSandbox& sql_sandbox() { return dynamic_cast<SqlSandbox&>(sandbox()); }
    SqlRows sql(const std::string& text) { return sql_sandbox().sql(text); }
    std::string table(const std::string& name) { return sql_sandbox().table("infra", name); }
    std::string payload(const std::string& text) { return sql_sandbox().payload(text); }
};
class SchemaLaw : public SqlLaw {};
class SqlSurfaceLaw : public SqlLaw {};
// Where the database itself guards the idempotency keys of plain INSERTs.
class PlainKeyLaw : public SqlLaw {};
// Where a trigger can drop rows without a word.
class DroppedRowsLaw : public SqlLaw {
protected:
    void drop_rows_of(const std::string& name) { sql(sql_sandbox().row_dropper(table(name))); }
    int rows_of(const std::string& name) {
        return std::stoi(sql("SELECT count(*) FROM " + table(name)).at(0).at(0).value());
    }
};
class LargeQueueLaw : public SqlLaw {};
class SqlTransactionLaw : public SqlLaw {};
// Where statements that define tables commit the transaction they stand in.
class ImplicitCommitLaw : public SqlLaw {};
class RestoreLaw : public SqlLaw {
protected:
    // Another store on the same database, with a guard that remembers every epoch at once.
    std::unique_ptr<Store> guarded(const TempDir& memory) {
        return sql_sandbox().reopen_with({.restore_guard = {.on = true,
                                                            .state_dir = memory.path().string(),
                                                            .raise_interval = {},
                                                            .settled_after = {}}});
    }
    std::vector<Message> claim_from(Store& store) {
        return store.claim(Queue::outbox, {.owner = me, .lease = long_lease, .batch = 10});
    }
    std::string claim_refused(Store& store) {
        return thrown([&] { (void)claim_from(store); });
    }
};
// Where writers lock rows, and may wait for each other in a circle.
class RowLockLaw : public SqlLaw {};

std::vector<Place> both_queues_of(const Backend& backend);
std::vector<Place> outbox_of(const Backend& backend);
std::vector<Place> inbox_of(const Backend& backend);

}  // namespace postroom::test

#define POSTROOM_LAW(law, places) \
    INSTANTIATE_TEST_SUITE_P(, law, testing::ValuesIn(places), place_name)

// Everything a worker or a writer does all day.
#define POSTROOM_WORK_LAWS(backend)                     \
    POSTROOM_LAW(ClaimLaw, both_queues_of(backend));    \
    POSTROOM_LAW(SettleLaw, both_queues_of(backend));   \
    POSTROOM_LAW(LeaseLaw, both_queues_of(backend));    \
    POSTROOM_LAW(RetryLaw, both_queues_of(backend));    \
    POSTROOM_LAW(BytesLaw, both_queues_of(backend));    \
    POSTROOM_LAW(WorkersLaw, both_queues_of(backend));  \
    POSTROOM_LAW(OrderingLaw, both_queues_of(backend)); \
    POSTROOM_LAW(EnqueueLaw, outbox_of(backend));       \
    POSTROOM_LAW(IdempotencyLaw, outbox_of(backend));   \
    POSTROOM_LAW(TransactionLaw, outbox_of(backend));   \
    POSTROOM_LAW(DedupeLaw, inbox_of(backend));         \
    POSTROOM_LAW(ReceiveLaw, inbox_of(backend));        \
    POSTROOM_LAW(MarkLaw, inbox_of(backend));           \
    POSTROOM_LAW(OnceLaw, inbox_of(backend));           \
    POSTROOM_LAW(InboxOrderingLaw, inbox_of(backend))

// The rest of the seam.
#define POSTROOM_STORE_LAWS(backend)                      \
    POSTROOM_WORK_LAWS(backend);                          \
    POSTROOM_LAW(PriorityLaw, both_queues_of(backend));   \
    POSTROOM_LAW(ClaimBytesLaw, both_queues_of(backend)); \
    POSTROOM_LAW(QueryLaw, both_queues_of(backend));      \
    POSTROOM_LAW(RecordsLaw, both_queues_of(backend));    \
    POSTROOM_LAW(DoorbellLaw, both_queues_of(backend));   \
    POSTROOM_LAW(BornLeaseLaw, outbox_of(backend));       \
    POSTROOM_LAW(InputLaw, outbox_of(backend));           \
    POSTROOM_LAW(HistoryLaw, outbox_of(backend));         \
    POSTROOM_LAW(PollingLaw, outbox_of(backend));         \
    POSTROOM_LAW(MessageIdLaw, inbox_of(backend));        \
    POSTROOM_LAW(InboxInputLaw, inbox_of(backend));       \
    POSTROOM_LAW(InboxPurgeLaw, inbox_of(backend))

#define POSTROOM_SQL_LAWS(backend)                   \
    POSTROOM_LAW(SchemaLaw, outbox_of(backend));     \
    POSTROOM_LAW(SqlSurfaceLaw, outbox_of(backend)); \
    POSTROOM_LAW(LargeQueueLaw, outbox_of(backend)); \
    POSTROOM_LAW(RestoreLaw, outbox_of(backend));    \
    POSTROOM_LAW(SqlTransactionLaw, outbox_of(backend))
