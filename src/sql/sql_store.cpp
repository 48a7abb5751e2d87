// SqlStore: construction, looking and keeping house.
#include "sql/sql_store.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "postroom/error.hpp"
#include "sql/message_row.hpp"

namespace postroom::sql {

namespace {

std::string condition_on_ids(const std::string& in_array) {
    std::string out = in_array;
    out.replace(out.find("{column}"), 8, "seq");
    out.replace(out.find("{param}"), 7, "seqs");
    return out;
}

// A part finds no more than the whole may have; of several, the union is cut again.
std::string search_text(const std::vector<std::string>& parts, const std::string& where) {
    const std::string end = where + " ORDER BY seq LIMIT :limit";
    if (parts.size() == 1) return parts.front() + end;
    std::string text;
    for (const std::string& part : parts)
        text += fmt::format("{}({}{})", text.empty() ? "" : " UNION ALL ", part, end);
    return text + " ORDER BY seq LIMIT :limit";
}

OpenOptions one_connection(OpenOptions options) {
    options.pool_max = 1;
    return options;
}

const OpenOptions& checked(const OpenOptions& options) {
    if (options.pool_max == 0) throw std::invalid_argument("pool_max: 0, at least 1 needed");
    if (options.dedupe_window < Duration::zero()) {
        throw std::invalid_argument("dedupe_window: must not be negative");
    }
    return options;
}

}  // namespace

SqlStore::SqlStore(const Backend& backend, const OpenOptions& options)
    : Store(options.store_id.empty() ? backend.peer : options.store_id, checked(options).limits),
      options_(options),
      placeholder_(backend.dialect.placeholder),
      in_array_(backend.dialect.in_array),
      render_(backend.dialect.render),
      units_(backend.dialect, Names(options)),
      foreign_(backend.dialect.foreign),
      doorbell_(backend.doorbell),
      runner_(backend, options, this),
      keeper_(backend, one_connection(options), this, &runner_) {}

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

std::vector<Message> SqlStore::find(Queue queue, const Query& query) {
    std::string where = " WHERE seq > :after_seq";
    Params params;
    params
        .set("after_seq",
             static_cast<std::int64_t>(query.after_seq) - (query.after_seq == 0 ? 1 : 0))
        .set("limit", std::int64_t{query.limit});
    const auto equal = [&](const char* column, std::string_view value) {
        where += fmt::format(" AND {0} = :{0}", column);
        params.set(column, value);
    };
    std::vector<std::int64_t> seqs;
    for (const WorkItemId& id : query.ids) seqs.push_back(static_cast<std::int64_t>(id.seq()));
    if (!seqs.empty()) {
        where += " AND " + condition_on_ids(in_array_);
        params.set("seqs", IntArray(seqs));
    }
    if (query.message_id) equal("message_id", *query.message_id);
    if (query.source) equal("source", *query.source);
    if (query.topic) equal("topic", *query.topic);
    if (query.owner) {
        where += " AND owner = :owner";
        params.set("owner", query.owner->uuid());
    }
    if (query.state) {
        where += fmt::format(" AND state = {}", static_cast<int>(*query.state));
    }
    if (query.blocking) where += " AND " + units_.of(queue).blocking;
    Unit unit;
    unit.statements.push_back(
        Statement::compile(search_text(units_.of(queue).find, where), placeholder_));

    std::vector<Message> found;
    Batch batch;
    batch.add(unit) = params;
    runner_.run(
        nullptr, batch, false, [&] { found.clear(); },
        [&](std::size_t, const Row& row) { found.push_back(read_message(queue, row)); });
    // The sequence number led to the rows; the nonce decides.
    if (!query.ids.empty()) {
        std::erase_if(found, [&](const Message& m) {
            return std::find(query.ids.begin(), query.ids.end(), m.id) == query.ids.end();
        });
    }
    return found;
}

std::uint64_t SqlStore::redrive(Queue queue, std::span<const WorkItemId> ids) {
    if (ids.empty()) return 0;
    std::vector<std::int64_t> seqs;
    std::vector<std::int64_t> nonces;
    for (const WorkItemId& id : ids) {
        seqs.push_back(static_cast<std::int64_t>(id.seq()));
        nonces.push_back(static_cast<std::int64_t>(id.nonce()));
    }
    return run_for_count(units_.of(queue).redrive, [&](Params& params) {
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
            result.busy = row.integer(1) != 0;
            result.more = result.purged >= request.batch;
        });
    return result;
}

Counts SqlStore::counts(Queue queue) {
    Batch batch;
    batch.add(units_.of(queue).counts);
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
        });
    return out;
}

std::unique_ptr<Store> make_store(Backend backend, const OpenOptions& options) {
    if (options.deploy_schema) make_schema(backend, options)->deploy();
    return std::make_unique<SqlStore>(backend, options);
}

}  // namespace postroom::sql
