// SqlStore: construction, looking and keeping house.
#include "sql/sql_store.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "postroom/error.hpp"
#include "sql/message_row.hpp"
#include "sql/search_pace.hpp"

namespace postroom::sql {

namespace {

OpenOptions one_connection(OpenOptions options) {
    options.pool_max = 1;
    return options;
}

// Nothing runs on a connection before the guard has looked at it.
Backend guarded(Backend backend, RestoreGuard& guard) {
    if (!guard.on()) return backend;
    backend.connect = [connect = std::move(backend.connect), &guard] {
        std::unique_ptr<Connection> connection = connect();
        guard.look_at(*connection);
        return connection;
    };
    return backend;
}

const OpenOptions& checked(const OpenOptions& options) {
    if (options.pool_max == 0) throw std::invalid_argument("pool_max: 0, at least 1 needed");
    if (options.dedupe_window < Duration::zero()) {
        throw std::invalid_argument("dedupe_window: must not be negative");
    }
    if (options.old_failure_attempts == 0)
        throw std::invalid_argument("old_failure_attempts: 0, at least 1 needed");
    return options;
}

}  // namespace

SqlStore::SqlStore(const Backend& backend, const OpenOptions& options)
    : Store(options.store_id.empty() ? backend.peer : options.store_id, checked(options).limits),
      options_(options),
      placeholder_(backend.dialect.placeholder),
      words_of_search_{.in_array = backend.dialect.in_array,
                       .contains = backend.dialect.contains,
                       .equals = backend.dialect.equals,
                       .empty = backend.dialect.empty,
                       .paged = backend.dialect.paged},
      render_(backend.dialect.render),
      units_(backend.dialect, Names(options)),
      words_(backend.dialect.words),
      doorbell_(backend.doorbell),
      guard_(units_.restore, options.restore_guard, backend.place),
      runner_(guarded(backend, guard_), options, this),
      keeper_(backend, one_connection(options), this, &runner_),
      enqueue_group_(make_enqueue_group(backend)) {}

Instant SqlStore::now() {
    Batch batch;
    batch.add(units_.now);
    Instant out{};
    runner_.run(
        nullptr, batch, false, [] {}, [&](std::size_t, const Row& row) { out = row.time(0); });
    return out;
}

Duration SqlStore::claimable_in(Queue queue) {
    const Unit& unit = units_.of(queue).claimable_in;
    Batch batch;
    batch.add(unit);
    Duration out = Duration::zero();
    runner_.run(
        nullptr, batch, unit.separate, [] {},
        [&](std::size_t, const Row& row) {
            out = row.null(0) ? Duration::max() : Duration{row.integer(0)};
        });
    return out;
}

std::unique_ptr<Doorbell> SqlStore::doorbell(Queue queue) {
    const Names names(options_);
    Doorbell::Forecast forecast;
    if (!units_.of(queue).claimable_in.statements.empty())
        forecast = [this, queue] { return claimable_in(queue); };
    return doorbell_(names.schema.str() + "." + names.of(queue).str(), std::move(forecast));
}

std::uint64_t SqlStore::run_for_count(const Unit& unit, const std::function<void(Params&)>& fill,
                                      std::stop_token stop) {
    Batch batch;
    fill(batch.add(unit));
    std::uint64_t count = 0;
    runner_.run(
        nullptr, batch, unit.separate, [&] { count = 0; },
        [&](std::size_t, const Row& row) { count = static_cast<std::uint64_t>(row.integer(0)); },
        stop);
    return count;
}

SearchWords SqlStore::search_words(Queue queue, const Query& query) {
    SearchWords words = words_of_search_;
    const QueueUnits& units = units_.of(queue);
    const bool of_key = query.ordering_key && !query.ordering_key->empty();
    words.blocking =
        of_key && !units.blocking_of_key.empty() ? units.blocking_of_key : units.blocking;
    if (query.put_off) words.now = now();
    return words;
}

void SqlStore::search(const std::string& text, const Search& search,
                      const std::function<void()>& reset,
                      const std::function<void(const Row&)>& read) {
    Unit unit;
    unit.statements.push_back(Statement::compile(text, placeholder_));
    unit.statements.back().traits.reads_only = true;
    Batch batch;
    batch.add(unit) = search.params();
    runner_.run(nullptr, batch, false, reset, [&](std::size_t, const Row& row) { read(row); });
}

namespace {

// Where the rest of `query` begins, once `bit` of it was searched; nullopt: there is no rest.
std::optional<std::uint64_t> behind(const Query& bit, const Query& query) {
    if (query.newest_first)
        return bit.after_seq > query.after_seq ? std::optional(bit.after_seq + 1) : std::nullopt;
    return bit.before_seq != query.before_seq ? std::optional(bit.before_seq - 1) : std::nullopt;
}

// A table has more than is to be searched at a time: no further than the numbers that were counted.
void cut(Query& bit, const Row& counted) {
    if (bit.newest_first) {
        bit.after_seq = std::max(bit.after_seq, static_cast<std::uint64_t>(counted.integer(1)) - 1);
        return;
    }
    const std::uint64_t end = static_cast<std::uint64_t>(counted.integer(2)) + 1;
    bit.before_seq = bit.before_seq == 0 ? end : std::min(bit.before_seq, end);
}

}  // namespace

std::vector<Message> SqlStore::find(Queue queue, const Query& query) {
    const std::vector<FindText>& parts = units_.of(queue).find.rows;
    const bool without_order = std::any_of(parts.begin(), parts.end(), [&](const FindText& part) {
        return part.numbers == FindText::Numbers::ranges && may_hold(part, query);
    });
    const bool few = !query.ids.empty() || query.owner;
    return without_order && !few ? find_bit_by_bit(queue, query, Duration::max()).messages
                                 : find_at_once(queue, query);
}

FoundPage SqlStore::find_within(Queue queue, const Query& query, Duration patience) {
    return !query.ids.empty() || units_.of(queue).numbers.empty()
               ? Store::find_within(queue, query, patience)
               : find_bit_by_bit(queue, query, patience);
}

FoundPage SqlStore::find_bit_by_bit(Queue queue, const Query& query, Duration patience) {
    SearchPace pace(query.limit, patience);
    Query rest = query;
    FoundPage page;
    bool going_on = true;
    while (going_on && rest.limit > 0) {
        const auto begun = std::chrono::steady_clock::now();
        const Query bit = next_bit(queue, rest, pace.rows());
        std::vector<Message> more = find_at_once(queue, bit);
        page.next_seq = behind(bit, rest);
        rest.limit -= static_cast<std::uint32_t>(more.size());
        std::move(more.begin(), more.end(), std::back_inserter(page.messages));
        if (!page.next_seq) break;
        (query.newest_first ? rest.before_seq : rest.after_seq) = *page.next_seq;
        going_on = pace.go_on_after(
            std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun));
    }
    // Behind a page that is full the next one begins; messages without a number cannot be paged
    // behind.
    if (rest.limit == 0 && !page.messages.empty()) {
        page.next_seq.reset();
        if (page.messages.back().id.seq() > 0) page.next_seq = page.messages.back().id.seq();
    }
    return page;
}

Query SqlStore::next_bit(Queue queue, const Query& query, std::uint64_t rows) {
    const std::vector<NumbersText>& tables = units_.of(queue).numbers;
    Batch batch;
    std::vector<Unit> units;
    units.reserve(tables.size());
    for (const NumbersText& table : tables) {
        if (!may_hold(table.source, query)) continue;
        const Query range{
            .after_seq = query.after_seq,
            .before_seq = query.before_seq,
            .newest_first = query.newest_first,
            .limit = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, rows / table.every))};
        const Search numbers(range, words_of_search_);
        Statement& statement = units.emplace_back().statements.emplace_back(
            Statement::compile(numbers.numbers_text(table.source), placeholder_));
        statement.traits.reads_only = true;
        batch.add(units.back(), range.limit) = numbers.params();
    }
    Query bit = query;
    if (batch.empty()) return bit;
    runner_.run(
        nullptr, batch, false, [&] { bit = query; },
        [&](std::size_t limit, const Row& row) {
            const auto count = static_cast<std::size_t>(row.integer(0));
            if (count == limit) cut(bit, row);
        });
    return bit;
}

std::vector<WorkItemId> SqlStore::find_keyed(Queue queue, const std::string& message_id) {
    std::vector<WorkItemId> found;
    Batch batch;
    batch.add(units_.of(queue).keyed).set("message_id", std::string_view(message_id));
    runner_.run(
        nullptr, batch, false, [&] { found.clear(); },
        [&](std::size_t, const Row& row) {
            found.emplace_back(static_cast<std::uint64_t>(row.integer(0)),
                               static_cast<std::uint64_t>(row.integer(1)));
        });
    return found;
}

std::vector<Message> SqlStore::find_at_once(Queue queue, const Query& query) {
    const Search wanted(query, search_words(queue, query));
    std::vector<Message> found;
    if (wanted.hopeless(units_.of(queue).find)) return found;
    search(
        wanted.rows_text(units_.of(queue).find), wanted, [&] { found.clear(); },
        [&](const Row& row) {
            found.push_back(read_message(queue, row));
            if (!query.payloads)
                found.back().payload_left_out =
                    static_cast<std::uint64_t>(row.integer(payload_bytes_column));
        });
    // The sequence number led to the rows; the nonce decides.
    if (!query.ids.empty()) {
        std::erase_if(found, [&](const Message& m) {
            return std::find(query.ids.begin(), query.ids.end(), m.id) == query.ids.end();
        });
    }
    return found;
}

std::uint64_t SqlStore::count(Queue queue, const Query& query) {
    // Of ids the numbers alone would count.
    if (!query.ids.empty()) return Store::count(queue, query);
    const Search wanted(query, search_words(queue, query));
    std::uint64_t total = 0;
    if (wanted.hopeless(units_.of(queue).find)) return total;
    search(
        wanted.count_text(units_.of(queue).find), wanted, [&] { total = 0; },
        [&](const Row& row) { total += static_cast<std::uint64_t>(row.integer(0)); });
    return total;
}

std::uint64_t SqlStore::redrive(Queue queue, std::span<const WorkItemId> ids) {
    return change_these(units_.of(queue).redrive, ids);
}

std::uint64_t SqlStore::change_these(const Unit& unit, std::span<const WorkItemId> ids) {
    if (ids.empty()) return 0;
    std::vector<std::int64_t> seqs;
    std::vector<std::int64_t> nonces;
    for (const WorkItemId& id : ids) {
        seqs.push_back(static_cast<std::int64_t>(id.seq()));
        nonces.push_back(static_cast<std::int64_t>(id.nonce()));
    }
    return run_for_count(unit, [&](Params& params) {
        params.set("seqs", IntArray(seqs)).set("nonces", IntArray(nonces));
    });
}

PurgeResult SqlStore::purge(Queue queue, const PurgeRequest& request) {
    Batch batch;
    batch.add(units_.of(queue).purge)
        .set("older_us", request.older_than.count())
        .set("window_us", options_.dedupe_window.count())
        .set("batch", std::int64_t{request.batch});
    PurgeResult result;
    runner_.run(
        nullptr, batch, false, [&] { result = {}; },
        [&](std::size_t, const Row& row) {
            result.purged += static_cast<std::uint64_t>(row.integer(0));
            const auto end = static_cast<PurgeEnd>(row.integer(1));
            result.busy = end == PurgeEnd::busy;
            result.more = result.purged >= request.batch || end == PurgeEnd::day_dropped;
        });
    return result;
}

Counts SqlStore::counts(Queue queue) {
    Batch batch;
    batch.add(units_.of(queue).counts)
        .set("old_attempts", std::int64_t{options_.old_failure_attempts});
    Counts out;
    runner_.run(
        nullptr, batch, false, [] {},
        [&](std::size_t, const Row& row) {
            const auto count = [&](int column) {
                return static_cast<std::uint64_t>(row.integer(column));
            };
            out.ready = count(0);
            out.in_progress = count(1);
            out.dead = count(2);
            out.seen = count(3);
            out.retrying = count(4);
            if (!row.null(5)) out.oldest = row.time(5);
            out.estimated = row.integer(6) != 0;
            out.old_failures = count(7);
        });
    return out;
}

std::unique_ptr<Store> make_store(Backend backend, const OpenOptions& options) {
    if (options.deploy_schema) make_schema(backend, options)->deploy();
    return std::make_unique<SqlStore>(backend, options);
}

}  // namespace postroom::sql
