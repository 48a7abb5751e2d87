// SqlStore: writing to the inbox.
#include <algorithm>
#include <deque>
#include <tuple>

#include "base/json_map.hpp"
#include "sql/message_params.hpp"
#include "sql/received_rows.hpp"
#include "sql/sql_store.hpp"

namespace postroom::sql {

namespace {

std::optional<State> state_or_none(const Row& row, int column) {
    if (row.null(column)) return std::nullopt;
    return static_cast<State>(row.integer(column));
}

bool any_ordered(std::span<const ReceivedMessage> messages) {
    return std::any_of(messages.begin(), messages.end(),
                       [](const ReceivedMessage& m) { return !m.ordering_key.empty(); });
}

// In the order of their keys, so that two receivers of the same messages do not wait for each other
// crosswise. With ordering keys in the order given, which is the one in which they are numbered;
// the database ends a wait that is crosswise.
std::vector<std::size_t> by_key(std::span<const ReceivedMessage> messages) {
    std::vector<std::size_t> order(messages.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (any_ordered(messages)) return order;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tie(messages[a].source, messages[a].message_id) <
               std::tie(messages[b].source, messages[b].message_id);
    });
    return order;
}

}  // namespace

std::vector<ReceiveResult> SqlStore::receive(TxContext* tx,
                                             std::span<const ReceivedMessage> messages,
                                             bool revive) {
    if (messages.empty()) return {};
    std::vector<std::string> headers;
    headers.reserve(messages.size());
    for (const ReceivedMessage& m : messages) {
        headers.push_back(m.headers.empty() ? std::string{} : base::to_json(m.headers));
    }
    // Many at once where the engine can, in a transaction of their own: a caller's may be run by a
    // driver that gives one result only.
    const bool together = tx == nullptr && messages.size() > 1 &&
                          !units_.receive_many.statements.empty() &&
                          std::all_of(messages.begin(), messages.end(), &ReceivedRows::takes);
    std::deque<ReceivedRows> chunks;
    Batch batch;
    for (const std::size_t i : by_key(messages)) {
        const auto nonce = static_cast<std::int64_t>(random_.next());
        if (!together) {
            set_received(batch.add(units_.receive, i).set("revive", std::int64_t{revive ? 1 : 0}),
                         messages[i], headers[i], nonce);
        } else if (chunks.empty() || !chunks.back().add(i, messages[i], headers[i], nonce)) {
            chunks.emplace_back().add(i, messages[i], headers[i], nonce);
        }
    }
    const std::size_t first_chunk = messages.size();
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        batch.add(units_.receive_many, first_chunk + i)
            .set("rows", chunks[i].text())
            .set("nonces", chunks[i].nonces())
            .set("revive", std::int64_t{revive ? 1 : 0});
    }
    std::vector<ReceiveResult> results(messages.size());
    runner_.run_shared(
        tx, batch, [] {},
        [&](std::size_t tag, const Row& row) {
            const std::size_t i =
                tag < first_chunk ? tag : chunks[tag - first_chunk].index_of(row.integer(4));
            results[i].id = row.null(0) ? WorkItemId{}
                                        : WorkItemId(static_cast<std::uint64_t>(row.integer(0)),
                                                     static_cast<std::uint64_t>(row.integer(1)));
            results[i].previous = state_or_none(row, 2);
            results[i].hash_mismatch = row.integer(3) != 0;
        });
    return results;
}

SeenResult SqlStore::see(TxContext* tx, const InboxKey& key,
                         const std::optional<std::string>& hash) {
    Batch batch;
    batch.add(units_.see)
        .set("source", std::string_view(key.source))
        .set("message_id", std::string_view(key.message_id))
        .set("hash", hash ? Value{BlobView{*hash}} : Value{});
    SeenResult result;
    runner_.run_shared(
        tx, batch, [] {},
        [&](std::size_t, const Row& row) {
            result = {.previous = state_or_none(row, 0), .hash_mismatch = row.integer(1) != 0};
        });
    return result;
}

std::optional<State> SqlStore::mark(TxContext* tx, const InboxKey& key, State state,
                                    const std::string& error) {
    Batch batch;
    batch.add(units_.mark)
        .set("source", std::string_view(key.source))
        .set("message_id", std::string_view(key.message_id))
        .set("state", static_cast<std::int64_t>(state))
        .set_text_or_null("error", error);
    std::optional<State> previous;
    runner_.run_shared(
        tx, batch, [&] { previous.reset(); },
        [&](std::size_t, const Row& row) { previous = state_or_none(row, 0); });
    return previous;
}

}  // namespace postroom::sql
