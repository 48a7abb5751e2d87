#include "conformance/postgres/function_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/json_map.hpp"
#include "postroom/error.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test {

namespace {

SqlValue or_null(const std::string& text) { return text.empty() ? SqlValue{} : SqlValue{text}; }

SqlValue micros(const std::optional<Instant>& time) {
    if (!time) return {};
    return SqlValue{static_cast<std::int64_t>(time->time_since_epoch().count())};
}

SqlValue blob_or_null(const std::optional<std::string>& bytes) {
    if (!bytes) return {};
    return SqlValue{Blob{*bytes}};
}

SqlValue count_or_null(const std::optional<std::uint32_t>& count) {
    if (!count) return {};
    return SqlValue{static_cast<std::int64_t>(*count)};
}

SqlValue json_or_null(const Headers& headers) {
    return headers.empty() ? SqlValue{} : SqlValue{base::to_json(headers)};
}

// A parameter that counts microseconds since 1970, or of a duration.
std::string time_of(int parameter) {
    return fmt::format("timestamptz 'epoch' + ${}::bigint * interval '1 microsecond'", parameter);
}

WorkItemId item_of(const std::optional<std::string>& uuid) {
    if (!uuid) return {};
    return WorkItemId::parse(*uuid).value();
}

bool is_true(const SqlRows& rows) { return rows.at(0).at(0) == "t"; }

std::string function(Queue queue, std::string_view verb) {
    return fmt::format("infra.{}_{}", to_string(queue), verb);
}

struct Before {
    std::optional<State> state;
    std::optional<std::string> hash;  // in hex
};

// The message as it stands at this moment; others may change it before the function is called.
Before look(TxContext& tx, const InboxKey& key) {
    const SqlRows rows = tx.execute({.sql = "SELECT state, encode(hash, 'hex') FROM infra.inbox "
                                            "WHERE source = $1::text AND message_id = $2::text",
                                     .params = {key.source, key.message_id}});
    if (rows.empty()) return {};
    return {.state = static_cast<State>(std::stoi(rows[0][0].value())), .hash = rows[0][1]};
}

std::string hex(const std::string& bytes) {
    std::string text;
    for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return text;
}

bool mismatch(const Before& before, const std::optional<std::string>& hash) {
    return before.hash && hash && *before.hash != hex(*hash);
}

EnqueueResult enqueue_one(TxContext& tx, const NewMessage& m) {
    const std::string& id = m.message_id.str();
    const bool known = !tx.execute({.sql = "SELECT 1 FROM infra.outbox WHERE message_id = $1::text",
                                    .params = {id}})
                            .empty();
    const SqlRows rows = tx.execute(
        {.sql = fmt::format(
             "SELECT infra.outbox_enqueue($1::text, $2::bytea, $3::text, {}, $5::text, $6::text, "
             "$7::text, $8::jsonb, $9::text, $10::text, $11::integer, $12::integer, {}, {}, "
             "$15::text, $16::text)",
             time_of(4), time_of(13), time_of(14)),
         .params = {m.topic.str(), Blob{*m.payload}, or_null(m.correlation_id), micros(m.due_time),
                    or_null(m.tenant_id), or_null(m.idempotency_key), or_null(m.ordering_key),
                    json_or_null(m.headers), m.content_type, id,
                    static_cast<std::int64_t>(m.priority), count_or_null(m.max_attempts),
                    micros(m.expires_at), micros(m.occurred_at), m.aggregate_type.str(),
                    or_null(m.aggregate_id)}});
    const WorkItemId item = item_of(rows.at(0).at(0));
    const std::string stored =
        tx.execute({.sql = "SELECT message_id FROM infra.outbox WHERE seq = $1::bigint",
                    .params = {static_cast<std::int64_t>(item.seq())}})
            .at(0)
            .at(0)
            .value();
    return {.id = item, .message_id = MessageId(stored), .already_existed = known || stored != id};
}

ReceiveResult receive_one(TxContext& tx, const ReceivedMessage& m, bool revive) {
    const Before before = look(tx, m.key());
    const SqlRows rows = tx.execute(
        {.sql = fmt::format("SELECT infra.inbox_enqueue($1::text, $2::text, $3::text, $4::bytea, "
                            "$5::bytea, {}, $7::text, $8::jsonb, $9::text, $10::integer, "
                            "$11::integer, {}, $13::boolean)",
                            time_of(6), time_of(12)),
         .params = {m.topic.str(), m.source, m.message_id, Blob{*m.payload}, blob_or_null(m.hash),
                    micros(m.due_time), m.content_type, json_or_null(m.headers),
                    or_null(m.ordering_key), static_cast<std::int64_t>(m.priority),
                    count_or_null(m.max_attempts), micros(m.expires_at),
                    std::string(revive ? "true" : "false")}});
    // Others may have been faster than the look: only the first arrival has not been seen before.
    const bool first =
        is_true(tx.execute({.sql = "SELECT first_seen = last_seen FROM infra.inbox "
                                   "WHERE source = $1::text AND message_id = $2::text",
                            .params = {m.source, m.message_id}}));
    return {.id = item_of(rows.at(0).at(0)),
            .previous = first ? std::nullopt : std::optional(before.state.value_or(State::ready)),
            .hash_mismatch = mismatch(before, m.hash)};
}

// Whether a function does exactly this.
bool has_function(const Settlement& s) {
    constexpr std::uint32_t max_attempts_of_the_functions = 10;
    switch (s.outcome) {
        case Outcome::ack:
            return true;
        case Outcome::abandon:
            return s.max_attempts == max_attempts_of_the_functions;
        case Outcome::fail:
            return s.reason == DeadReason::failed;
        case Outcome::release:
            return false;
    }
    return false;
}

Settled settle_one(TxContext& tx, Queue queue, const Settlement& s) {
    const std::vector<SqlValue> lease{s.lease.lease_id.value(), s.lease.id.to_string()};
    const auto call = [&](std::string_view verb, std::string_view more,
                          std::vector<SqlValue> extra) {
        SqlStatement statement{.sql = fmt::format("SELECT {}($1::bigint, ARRAY[$2::uuid]{})",
                                                  function(queue, verb), more),
                               .params = lease};
        for (SqlValue& value : extra) statement.params.push_back(std::move(value));
        return tx.execute(statement).at(0).at(0) == "1";
    };
    const std::string frees_key = s.frees_key ? "true" : "false";
    switch (s.outcome) {
        case Outcome::ack:
            return call("ack", "", {}) ? Settled::done : Settled::lost;
        case Outcome::fail:
            // An inbox wants to be told (IBX-067), if only that there is no error.
            return call("fail", ", $3::text, $4::boolean",
                        {queue == Queue::inbox ? SqlValue{s.error} : or_null(s.error), frees_key})
                       ? Settled::dead
                       : Settled::lost;
        default:
            break;
    }
    if (!call("abandon", ", $3::text, $4::bigint * interval '1 microsecond', $5::boolean",
              {or_null(s.error), static_cast<std::int64_t>(s.delay.count()), frees_key}))
        return Settled::lost;
    const SqlRows state = tx.execute(
        {.sql = fmt::format("SELECT state FROM infra.{} WHERE seq = $1::bigint", to_string(queue)),
         .params = {static_cast<std::int64_t>(s.lease.id.seq())}});
    return state.at(0).at(0) == "3" ? Settled::dead : Settled::ready;
}

}  // namespace

FunctionStore::FunctionStore(Store& inner, std::string url)
    : ForwardingStore(inner), url_(std::move(url)) {}

template <class Act>
auto FunctionStore::run_in(TxContext* tx, const Act& act) {
    if (tx != nullptr) {
        // Changes nothing, and lets the library refuse a transaction that has ended or is another
        // store's.
        inner().mark(tx, {.source = "nobody", .message_id = "nothing"}, State::done, "");
        return act(*tx);
    }
    for (int attempt = 1;; ++attempt) {
        try {
            const std::unique_ptr<Transaction> own = inner().begin();
            auto result = act(*own);
            own->commit();
            return result;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::conflict || attempt == 10) throw;
        }
    }
}

std::vector<EnqueueResult> FunctionStore::enqueue(TxContext* tx,
                                                  std::span<const NewMessage> messages,
                                                  const BornLease* born) {
    if (born != nullptr || messages.empty()) return inner().enqueue(tx, messages, born);
    return run_in(tx, [&](TxContext& in) {
        // Keys in sorted order, as the library writes them: batches never wait for each other in a
        // circle.
        std::vector<std::size_t> order(messages.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        // With ordering keys in the order given, as the library does.
        const bool ordered = std::any_of(messages.begin(), messages.end(), [](const NewMessage& m) {
            return !m.ordering_key.empty();
        });
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            if (ordered) return a < b;
            return messages[a].idempotency_key < messages[b].idempotency_key;
        });
        std::vector<EnqueueResult> results(messages.size());
        for (const std::size_t i : order) results[i] = enqueue_one(in, messages[i]);
        return results;
    });
}

std::vector<ReceiveResult> FunctionStore::receive(TxContext* tx,
                                                  std::span<const ReceivedMessage> messages,
                                                  bool revive) {
    return run_in(tx, [&](TxContext& in) {
        std::vector<ReceiveResult> results;
        for (const ReceivedMessage& message : messages)
            results.push_back(receive_one(in, message, revive));
        return results;
    });
}

SeenResult FunctionStore::see(TxContext* tx, const InboxKey& key,
                              const std::optional<std::string>& hash) {
    return run_in(tx, [&](TxContext& in) {
        const Before before = look(in, key);
        const bool done = is_true(in.execute(
            {.sql = "SELECT infra.inbox_already_processed($1::text, $2::text, $3::bytea)",
             .params = {key.message_id, key.source, blob_or_null(hash)}}));
        if (before.state == State::done && !done)
            throw std::logic_error("already_processed does not say what the table says");
        return SeenResult{.previous = done ? State::done : before.state,
                          .hash_mismatch = mismatch(before, hash)};
    });
}

std::optional<State> FunctionStore::mark(TxContext* tx, const InboxKey& key, State state,
                                         const std::string& error) {
    return run_in(tx, [&](TxContext& in) {
        const Before before = look(in, key);
        SqlStatement call{.sql = "SELECT infra.inbox_mark_processing($1::text, $2::text)",
                          .params = {key.message_id, key.source}};
        if (state == State::done)
            call.sql = "SELECT infra.inbox_mark_processed($1::text, $2::text)";
        if (state == State::dead) {
            call.sql = "SELECT infra.inbox_mark_dead($1::text, $2::text, $3::text)";
            call.params.push_back(or_null(error));
        }
        if (!is_true(in.execute(call))) return std::optional<State>{};
        return std::optional<State>{before.state.value_or(State::seen)};
    });
}

// The functions count leases in seconds; a shorter one is cut afterwards.
std::vector<Message> FunctionStore::claim(Queue queue, const ClaimRequest& request,
                                          std::stop_token stop) {
    if (stop.stop_requested()) return {};
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(request.lease);
    const SqlRows rows = psql(
        url_, fmt::format("SELECT id, lease_id FROM {}('{}', {}, {})", function(queue, "claim"),
                          request.owner.to_string(), seconds.count(), request.batch));
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

std::vector<Settled> FunctionStore::settle(TxContext* tx, Queue queue,
                                           std::span<const Settlement> settlements) {
    if (!std::all_of(settlements.begin(), settlements.end(),
                     [](const Settlement& s) { return has_function(s); }))
        return inner().settle(tx, queue, settlements);
    return run_in(tx, [&](TxContext& in) {
        std::vector<Settled> results;
        for (const Settlement& s : settlements) results.push_back(settle_one(in, queue, s));
        return results;
    });
}

std::uint64_t FunctionStore::reap(Queue queue, std::uint32_t limit, std::stop_token stop) {
    constexpr std::uint32_t batch_of_the_faces = 1000;
    if (limit < batch_of_the_faces || stop.stop_requested())
        return inner().reap(queue, limit, stop);
    const SqlRows rows = psql(url_, fmt::format("SELECT {}()", function(queue, "reap")));
    return std::stoull(rows.at(0).at(0).value());
}

}  // namespace postroom::test
