// RoutineStore: the store as a program in another language would use it, through the routines that
// a schema brings: outbox_claim, inbox_enqueue and so on, as functions or as procedures. The store
// of an engine derives from it and says how its routines are called.
//
// What the routines do not offer (born leases, policies of the caller, looking around) goes to the
// library's own store. What they do not tell (the state before, the message id that a key has) is
// read beside them, and may be out of date when others are at work.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/forwarding_store.hpp"
#include "queue/hot_path.hpp"

namespace postroom::test {

// An argument of a routine: a value, and what the engine is to take it for.
struct Argument {
    enum class Type {
        text,
        bytes,
        number,
        lease,
        owner,
        flag,      // "0" or "1"
        time,      // microseconds since 1970
        duration,  // microseconds
        json,
        ids,  // a JSON array of work-item ids
    };

    static Argument text(const std::string& value) { return {Type::text, value}; }
    static Argument text_or_null(const std::string& value);
    static Argument bytes(const std::string& value) { return {Type::bytes, Blob{value}}; }
    static Argument bytes_or_null(const std::optional<std::string>& value);
    static Argument number(std::int64_t value) { return {Type::number, value}; }
    static Argument number_or_null(const std::optional<std::uint32_t>& value);
    static Argument flag(bool value) { return {Type::flag, std::string(value ? "1" : "0")}; }
    static Argument time(const std::optional<Instant>& value);
    static Argument duration(Duration value);
    static Argument headers(const Headers& value);
    static Argument ids(std::span<const WorkItemId> value);

    Type type = Type::text;
    SqlValue value{};
};

class RoutineStore : public ForwardingStore {
public:
    using ForwardingStore::ForwardingStore;

    std::vector<EnqueueResult> enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                       const BornLease* born) override;
    std::vector<ReceiveResult> receive(TxContext* tx, std::span<const ReceivedMessage> messages,
                                       bool revive) override;
    SeenResult see(TxContext* tx, const InboxKey& key,
                   const std::optional<std::string>& hash) override;
    std::optional<State> mark(TxContext* tx, const InboxKey& key, State state,
                              const std::string& error) override;
    std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                               std::stop_token stop) override;
    std::vector<Settled> settle(TxContext* tx, Queue queue,
                                std::span<const Settlement> settlements) override;
    std::vector<bool> extend(Queue queue, std::span<const Lease> leases, Duration lease) override;
    std::uint64_t reap(Queue queue, std::uint32_t limit, std::stop_token stop) override;
    std::uint64_t redrive(Queue queue, std::span<const WorkItemId> ids) override;
    PurgeResult purge(Queue queue, const PurgeRequest& request) override;

protected:
    using Arguments = std::vector<Argument>;
    using Act = std::function<void(TxContext&)>;

    // The rows that the routine answers with.
    virtual SqlRows call(TxContext& tx, Queue queue, std::string_view verb,
                         const Arguments& arguments) = 0;
    virtual EnqueueResult enqueue_one(TxContext& tx, const NewMessage& message) = 0;
    virtual WorkItemId receive_one(TxContext& tx, const ReceivedMessage& message, bool revive) = 0;
    // Calls one routine that belongs to no transaction of the caller's.
    virtual void alone(const Act& act) { in_own_transaction(act); }

    // How the engine writes parameter `number`, and a column of bytes as text.
    virtual std::string parameter(int number, Argument::Type type) const = 0;
    virtual std::string hex(const std::string& column) const = 0;
    // Where messages are looked up without reading all there are: by the number of one that was
    // abandoned; by source and message id, with a column or expression that is the state.
    virtual std::string abandoned_rows(Queue queue) const = 0;
    virtual std::string inbox_rows() const = 0;
    virtual std::string inbox_state() const = 0;

    // The arguments as the engine writes them, separated by commas, and their values.
    SqlStatement statement(std::string_view before, const Arguments& arguments,
                           std::string_view after) const;
    // The message id of the message with this number in the view or table `rows`.
    MessageId message_id_of(TxContext& tx, std::string_view rows, const WorkItemId& id) const;
    void in_own_transaction(const Act& act);

private:
    struct Before;

    Before look(TxContext& tx, const InboxKey& key) const;
    bool arrived_first(TxContext& tx, const InboxKey& key) const;
    SqlRows select_by_key(TxContext& tx, std::string_view columns, const InboxKey& key) const;
    SqlRows select_by_number(TxContext& tx, std::string_view columns, std::string_view rows,
                             const WorkItemId& id) const;
    std::uint64_t changed(TxContext& tx, Queue queue, std::string_view verb,
                          const Arguments& arguments);
    Settled settle_one(TxContext& tx, Queue queue, const Settlement& settlement);
    Settled abandon_one(TxContext& tx, Queue queue, const Settlement& settlement);
    void require_read(TxContext& tx, Queue queue, const SqlRows& claimed);
    // Runs `act` in `tx`; without one `calls` of a routine are made, again after a conflict.
    void run_in(TxContext* tx, std::size_t calls, const Act& act);
    void refuse_other_than_ours(TxContext& tx);
};

// Of what a routine answered.
bool is_true(const SqlRows& rows);
std::uint64_t number_in(const SqlRows& rows);
WorkItemId item_in(const SqlRows& rows);

}  // namespace postroom::test
