#include "conformance/routine_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/hex.hpp"
#include "base/json_map.hpp"
#include "base/json_writer.hpp"
#include "base/random.hpp"
#include "postroom/error.hpp"
#include "postroom/retry_policy.hpp"

namespace postroom::test {

namespace {

WorkItemId item_of(const std::optional<std::string>& uuid) {
    if (!uuid) return {};
    return WorkItemId::parse(*uuid).value();
}

// Whether a routine does exactly this.
bool has_routine(const Settlement& s) {
    switch (s.outcome) {
        case Outcome::ack:
        case Outcome::release:
            return true;
        case Outcome::abandon:
            return s.max_attempts == RetryPolicy{}.max_attempts;
        case Outcome::fail:
            return s.reason == DeadReason::failed;
    }
    return false;
}

// The delay to ask for: none where it is the one that the routines give by themselves.
Argument delay_of(const Settlement& s) {
    base::SystemRandom random;  // without jitter nothing is drawn
    if (s.delay == RetryPolicy{}.delay(s.lease.retry_count + 1, random))
        return {.type = Argument::Type::duration};
    return Argument::duration(s.delay);
}

Argument lease_id_of(const Lease& lease) { return {Argument::Type::lease, lease.lease_id.value()}; }

Argument id_of(const Lease& lease) { return Argument::ids(std::span(&lease.id, 1)); }

// Keys in sorted order, as the library writes them: batches never wait for each other in a circle.
// With ordering keys in the order given, as the library does.
std::vector<std::size_t> order_of(std::span<const NewMessage> messages) {
    std::vector<std::size_t> order(messages.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const bool ordered = std::any_of(messages.begin(), messages.end(),
                                     [](const NewMessage& m) { return !m.ordering_key.empty(); });
    if (!ordered) {
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return messages[a].idempotency_key < messages[b].idempotency_key;
        });
    }
    return order;
}

}  // namespace

Argument Argument::text_or_null(const std::string& value) {
    return value.empty() ? Argument{.type = Type::text} : text(value);
}

Argument Argument::bytes_or_null(const std::optional<std::string>& value) {
    return value ? bytes(*value) : Argument{.type = Type::bytes};
}

Argument Argument::number_or_null(const std::optional<std::uint32_t>& value) {
    return value ? number(*value) : Argument{.type = Type::number};
}

Argument Argument::time(const std::optional<Instant>& value) {
    if (!value) return {.type = Type::time};
    return {Type::time, static_cast<std::int64_t>(value->time_since_epoch().count())};
}

Argument Argument::duration(Duration value) {
    return {Type::duration, static_cast<std::int64_t>(value.count())};
}

Argument Argument::headers(const Headers& value) {
    if (value.empty()) return {.type = Type::json};
    return {Type::json, base::to_json(value)};
}

Argument Argument::ids(std::span<const WorkItemId> value) {
    base::JsonArray array;
    for (const WorkItemId& id : value) array.add(id.to_string());
    return {Type::ids, array.text()};
}

bool is_true(const SqlRows& rows) { return rows.at(0).at(0) == "t" || rows.at(0).at(0) == "1"; }

std::uint64_t number_in(const SqlRows& rows) { return std::stoull(rows.at(0).at(0).value()); }

WorkItemId item_in(const SqlRows& rows) { return item_of(rows.at(0).at(0)); }

SqlStatement RoutineStore::statement(std::string_view before, const Arguments& arguments,
                                     std::string_view after) const {
    SqlStatement made{.sql = std::string(before)};
    for (const Argument& argument : arguments) {
        made.params.push_back(argument.value);
        const int number = static_cast<int>(made.params.size());
        if (number > 1) made.sql += ", ";
        made.sql += parameter(number, argument.type);
    }
    made.sql += after;
    return made;
}

struct RoutineStore::Before {
    std::optional<State> state;
    std::optional<std::string> hash;  // in hex

    bool mismatch(const std::optional<std::string>& given) const {
        return hash && given && *hash != base::hex_encode(*given);
    }
};

SqlRows RoutineStore::select_by_key(TxContext& tx, std::string_view columns,
                                    const InboxKey& key) const {
    return tx.execute(statement(
        fmt::format("SELECT {} FROM {} WHERE (source, message_id) = (", columns, inbox_rows()),
        {Argument::text(key.source), Argument::text(key.message_id)}, ")"));
}

SqlRows RoutineStore::select_by_number(TxContext& tx, std::string_view columns,
                                       std::string_view rows, const WorkItemId& id) const {
    return tx.execute(statement(fmt::format("SELECT {} FROM {} WHERE seq = ", columns, rows),
                                {{Argument::Type::lease, static_cast<std::int64_t>(id.seq())}},
                                ""));
}

// The message as it stands at this moment; others may change it before the routine is called.
RoutineStore::Before RoutineStore::look(TxContext& tx, const InboxKey& key) const {
    const SqlRows rows = select_by_key(tx, inbox_state() + ", " + hex("hash"), key);
    if (rows.empty()) return {};
    return {.state = static_cast<State>(std::stoi(rows[0][0].value())), .hash = rows[0][1]};
}

// Others may have been faster than the look: only the first arrival has not been seen before.
bool RoutineStore::arrived_first(TxContext& tx, const InboxKey& key) const {
    return is_true(select_by_key(tx, "first_seen = last_seen", key));
}

MessageId RoutineStore::message_id_of(TxContext& tx, std::string_view rows,
                                      const WorkItemId& id) const {
    return MessageId(select_by_number(tx, "message_id", rows, id).at(0).at(0).value());
}

std::uint64_t RoutineStore::changed(TxContext& tx, Queue queue, std::string_view verb,
                                    const Arguments& arguments) {
    return number_in(call(tx, queue, verb, arguments));
}

// Changes nothing, and lets the library refuse a transaction that has ended or is another store's.
void RoutineStore::refuse_other_than_ours(TxContext& tx) {
    inner().mark(&tx, {.source = "nobody", .message_id = "nothing"}, State::done, "");
}

void RoutineStore::in_own_transaction(const Act& act) {
    const std::unique_ptr<Transaction> own = inner().begin();
    act(*own);
    own->commit();
}

void RoutineStore::run_in(TxContext* tx, std::size_t calls, const Act& act) {
    if (tx != nullptr) {
        refuse_other_than_ours(*tx);
        return act(*tx);
    }
    for (int attempt = 1;; ++attempt) {
        try {
            return calls == 1 ? alone(act) : in_own_transaction(act);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::conflict || attempt == 10) throw;
        }
    }
}

std::vector<EnqueueResult> RoutineStore::enqueue(TxContext* tx,
                                                 std::span<const NewMessage> messages,
                                                 const BornLease* born) {
    if (born != nullptr || messages.empty()) return inner().enqueue(tx, messages, born);
    std::vector<EnqueueResult> results(messages.size());
    run_in(tx, messages.size(), [&](TxContext& in) {
        for (const std::size_t i : order_of(messages)) results[i] = enqueue_one(in, messages[i]);
    });
    return results;
}

std::vector<ReceiveResult> RoutineStore::receive(TxContext* tx,
                                                 std::span<const ReceivedMessage> messages,
                                                 bool revive) {
    std::vector<ReceiveResult> results(messages.size());
    // In a transaction, be it a single one: until that ends nobody else arrives between the routine
    // and the question who was first.
    run_in(tx, messages.size() + 1, [&](TxContext& in) {
        for (std::size_t i = 0; i < messages.size(); ++i) {
            const ReceivedMessage& message = messages[i];
            const Before before = look(in, message.key());
            results[i] = {.id = receive_one(in, message, revive),
                          .hash_mismatch = before.mismatch(message.hash)};
            if (!arrived_first(in, message.key()))
                results[i].previous = before.state.value_or(State::ready);
        }
    });
    return results;
}

SeenResult RoutineStore::see(TxContext* tx, const InboxKey& key,
                             const std::optional<std::string>& hash) {
    SeenResult result;
    run_in(tx, 1, [&](TxContext& in) {
        const Before before = look(in, key);
        const bool done = is_true(call(in, Queue::inbox, "already_processed",
                                       {Argument::text(key.message_id), Argument::text(key.source),
                                        Argument::bytes_or_null(hash)}));
        if (before.state == State::done && !done)
            throw std::logic_error("already_processed does not say what the table says");
        result = {.previous = done ? State::done : before.state,
                  .hash_mismatch = before.mismatch(hash)};
    });
    return result;
}

std::optional<State> RoutineStore::mark(TxContext* tx, const InboxKey& key, State state,
                                        const std::string& error) {
    std::optional<State> previous;
    run_in(tx, 1, [&](TxContext& in) {
        const Before before = look(in, key);
        Arguments arguments{Argument::text(key.message_id), Argument::text(key.source)};
        std::string_view verb = state == State::done ? "mark_processed" : "mark_processing";
        if (state == State::dead) {
            verb = "mark_dead";
            arguments.push_back(Argument::text_or_null(error));
        }
        const bool marked = is_true(call(in, Queue::inbox, verb, arguments));
        previous = marked ? std::optional(before.state.value_or(State::seen)) : std::nullopt;
    });
    return previous;
}

// What was claimed can be read, all of it and nothing else.
void RoutineStore::require_read(TxContext& tx, Queue queue, const SqlRows& claimed) {
    const SqlRows read =
        call(tx, queue, "read", {{Argument::Type::lease, std::stoll(claimed.at(0).at(1).value())}});
    const auto holds = [&](const auto& row) {
        return std::any_of(read.begin(), read.end(),
                           [&](const auto& other) { return other.at(0) == row.at(0); });
    };
    if (read.size() != claimed.size() || !std::all_of(claimed.begin(), claimed.end(), holds))
        throw std::logic_error(fmt::format("{} claimed, {} read", claimed.size(), read.size()));
}

// The routines count leases in seconds; a shorter one is cut afterwards.
std::vector<Message> RoutineStore::claim(Queue queue, const ClaimRequest& request,
                                         std::stop_token stop) {
    if (stop.stop_requested()) return {};
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(request.lease);
    SqlRows rows;
    run_in(nullptr, 1, [&](TxContext& in) {
        rows = call(in, queue, "claim",
                    {{Argument::Type::owner, request.owner.to_string()},
                     Argument::number(seconds.count()),
                     Argument::number(request.batch)});
        if (!rows.empty()) require_read(in, queue, rows);
    });
    if (rows.empty()) return {};
    Query query{.limit = request.batch};
    std::vector<Lease> leases;
    for (const auto& row : rows) {
        query.ids.push_back(item_of(row.at(0)));
        leases.push_back({.id = query.ids.back(),
                          .lease_id = LeaseId(std::stoll(row.at(1).value())),
                          .owner = request.owner});
    }
    if (seconds != request.lease) inner().extend(queue, leases, request.lease);
    std::vector<Message> claimed = inner().find(queue, query);
    for (Message& message : claimed) message.state = State::in_progress;
    return claimed;
}

Settled RoutineStore::settle_one(TxContext& tx, Queue queue, const Settlement& s) {
    Arguments arguments{lease_id_of(s.lease), id_of(s.lease)};
    const auto settled = [&](std::string_view verb, Settled as) {
        return changed(tx, queue, verb, arguments) == 1 ? as : Settled::lost;
    };
    switch (s.outcome) {
        case Outcome::ack:
            return settled("ack", Settled::done);
        case Outcome::release:
            arguments.push_back(Argument::duration(s.delay));
            return settled("hand_back", Settled::ready);
        case Outcome::fail:
            // An inbox wants to be told (IBX-067), if only that there is no error.
            arguments.push_back(queue == Queue::inbox ? Argument::text(s.error)
                                                      : Argument::text_or_null(s.error));
            arguments.push_back(Argument::flag(s.frees_key));
            return settled("fail", Settled::dead);
        case Outcome::abandon:
            break;
    }
    return abandon_one(tx, queue, s);
}

Settled RoutineStore::abandon_one(TxContext& tx, Queue queue, const Settlement& s) {
    if (changed(tx, queue, "abandon",
                {lease_id_of(s.lease), id_of(s.lease), Argument::text_or_null(s.error), delay_of(s),
                 Argument::flag(s.frees_key)}) != 1)
        return Settled::lost;
    const SqlRows state = select_by_number(tx, "state", abandoned_rows(queue), s.lease.id);
    return state.at(0).at(0) == "3" ? Settled::dead : Settled::ready;
}

std::vector<Settled> RoutineStore::settle(TxContext* tx, Queue queue,
                                          std::span<const Settlement> settlements) {
    if (!std::all_of(settlements.begin(), settlements.end(), has_routine))
        return inner().settle(tx, queue, settlements);
    std::vector<Settled> results(settlements.size());
    run_in(tx, settlements.size(), [&](TxContext& in) {
        for (std::size_t i = 0; i < settlements.size(); ++i)
            results[i] = settle_one(in, queue, settlements[i]);
    });
    return results;
}

std::vector<bool> RoutineStore::extend(Queue queue, std::span<const Lease> leases, Duration lease) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(lease);
    if (seconds != lease) return inner().extend(queue, leases, lease);
    std::vector<bool> results(leases.size());
    run_in(nullptr, leases.size(), [&](TxContext& in) {
        for (std::size_t i = 0; i < leases.size(); ++i) {
            results[i] = changed(in, queue, "extend",
                                 {lease_id_of(leases[i]), id_of(leases[i]),
                                  Argument::number(seconds.count())}) == 1;
        }
    });
    return results;
}

std::uint64_t RoutineStore::reap(Queue queue, std::uint32_t limit, std::stop_token stop) {
    constexpr std::uint32_t batch_of_the_faces = 1000;
    if (limit < batch_of_the_faces || stop.stop_requested())
        return inner().reap(queue, limit, stop);
    std::uint64_t reaped = 0;
    run_in(nullptr, 1, [&](TxContext& in) { reaped = changed(in, queue, "reap", {}); });
    return reaped;
}

std::uint64_t RoutineStore::redrive(Queue queue, std::span<const WorkItemId> ids) {
    std::uint64_t redriven = 0;
    run_in(nullptr, 1,
           [&](TxContext& in) { redriven = changed(in, queue, "redrive", {Argument::ids(ids)}); });
    return redriven;
}

// The window of idempotency keys is the usual one, whatever the store's options say.
PurgeResult RoutineStore::purge(Queue queue, const PurgeRequest& request) {
    SqlRows rows;
    run_in(nullptr, 1, [&](TxContext& in) {
        rows = call(in, queue, "purge",
                    {Argument::duration(request.older_than), Argument::number(request.batch)});
    });
    const std::uint64_t purged = number_in(rows);
    // Not every engine's routine tells that somebody else is at it.
    const bool busy = rows[0].size() > 1 && rows[0][1] == "1";
    return {.purged = purged, .more = purged >= request.batch, .busy = busy};
}

}  // namespace postroom::test
