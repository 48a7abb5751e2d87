#include "adoption/adoption.hpp"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "adoption/adopted_message.hpp"

namespace postroom::adoption {

namespace {

// Bounds what one transaction holds in memory, here and there.
constexpr std::uint64_t chunk_bytes_max = std::uint64_t{16} * 1024 * 1024;

SqlAccess& access_of(Store& store) {
    if (SqlAccess* const access = sql_access_of(store)) return *access;
    throw std::invalid_argument(fmt::format("store '{}' is no SQL database", store.id()));
}

SqlRows catalog_of(Store& store, const std::string& table) {
    SqlAccess& access = access_of(store);
    const auto [schema, name] = split_name(table);
    access.words().quoted(schema, name);  // refuses what is no name
    return access.read(access.words().columns(schema, name));
}

Ids ids_in(const SqlRows& rows) {
    Ids ids;
    for (const auto& cells : rows) {
        if (!cells.at(0)) throw std::invalid_argument("a row that waits has no id");
        ids.push_back(*cells[0]);
    }
    return ids;
}

std::uint64_t count_in(const SqlRows& rows) {
    return static_cast<std::uint64_t>(whole_number("count", rows.at(0).at(0).value_or("0")));
}

}  // namespace

std::vector<std::string> columns_of(Store& store, const std::string& table) {
    std::vector<std::string> names;
    for (const auto& cells : catalog_of(store, table)) names.push_back(cells.at(2).value_or(""));
    return names;
}

Adoption::Adoption(Store& store, ClassicTable table)
    : store_(store), sql_(access_of(store).words(), table, catalog_of(store, table.name)) {}

std::invalid_argument Adoption::in_row(const std::string& id, const char* what) const {
    return std::invalid_argument(
        fmt::format("row '{}' of table {}: {}", sql_.text_of("id", id), sql_.table().name, what));
}

Adoption::Counts Adoption::count() {
    SqlAccess& access = access_of(store_);
    const std::string pending = sql_.waiting(store_.now(), false);
    return {.pending = count_in(access.read(sql_.count(pending))),
            .dead = count_in(access.read(sql_.count(sql_.dead())))};
}

std::uint64_t Adoption::count_without_key() {
    return count_in(access_of(store_).read(sql_.count(sql_.keyless())));
}

std::invalid_argument Adoption::bad_id(const char* what) const {
    return std::invalid_argument(fmt::format("table {}: its id, column '{}', {}", sql_.table().name,
                                             sql_.table().columns.at("id"), what));
}

// Looks at the whole table: twins of these rows may be in another state.
SqlRows Adoption::sizes_of(TxContext& tx, const Ids& ids) const {
    SqlRows sizes = tx.execute(sql_.sizes(ids));
    if (sizes.size() > std::set(ids.begin(), ids.end()).size()) throw bad_id("is not unique");
    return sizes;
}

// As many of `ids`, from the first, as a transaction may hold; one at least.
Ids Adoption::within_bytes(Ids ids, const SqlRows& sizes) const {
    std::map<std::string, std::uint64_t> size_of;
    for (const auto& cells : sizes)
        size_of[cells.at(0).value_or("")] =
            static_cast<std::uint64_t>(whole_number("payload", cells.at(1).value_or("0")));
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::uint64_t size = size_of[ids[i]];
        bytes += size;
        if (i > 0 && bytes > chunk_bytes_max) {
            ids.resize(i);
            break;
        }
        if (size > store_.limits().max_payload_bytes)
            throw in_row(ids[i], "payload: larger than max_payload_bytes");
    }
    return ids;
}

// Those of `ids` that could be locked, in their order.
Adoption::Chunk Adoption::locked_chunk(TxContext& tx, const Ids& ids,
                                       const std::string& waiting) const {
    std::map<std::string, NewMessage> by_id;
    for (const auto& cells : tx.execute(sql_.locked_rows(ids, waiting))) {
        const std::string& id = cells.at(0).value();
        try {
            if (!by_id.emplace(id, message_of(sql_, sql_.row_of(cells), store_.limits())).second)
                throw std::invalid_argument("its id is not unique");
        } catch (const std::invalid_argument& error) {
            throw in_row(id, error.what());
        }
    }
    Chunk chunk;
    for (const std::string& id : ids) {
        auto row = by_id.extract(id);
        if (row.empty()) continue;
        chunk.ids.push_back(id);
        chunk.messages.push_back(std::move(row.mapped()));
    }
    return chunk;
}

Adoption::Taken Adoption::take(const Request& request) {
    const std::string waiting = sql_.waiting(store_.now(), request.dead);
    const SqlStatement next = sql_.oldest(waiting, request.rows);
    const std::unique_ptr<Transaction> tx = store_.begin();
    // First which ones, in order, then those alone are locked: a lock on a sorted search would hold
    // all that wait.
    const Ids oldest = ids_in(tx->execute(next));
    if (oldest.empty()) return {};
    const SqlRows sizes = sizes_of(*tx, oldest);
    const Chunk chunk = locked_chunk(*tx, within_bytes(oldest, sizes), waiting);
    if (chunk.ids.empty()) {
        // Held or removed by others in the meantime, or the id cannot be looked for at all.
        if (sizes.empty() && ids_in(tx->execute(next)) == oldest)
            throw bad_id("does not find its rows again");
        return {.held = true};
    }
    Taken taken{.rows = chunk.ids.size()};
    for (const EnqueueResult& one : store_.enqueue(tx.get(), chunk.messages))
        taken.enqueued += one.already_existed ? 0 : 1;
    tx->execute(sql_.finish(chunk.ids, waiting, request.remove));
    tx->commit();
    store_.announce(Queue::outbox);
    return taken;
}

std::uint64_t Adoption::backfill(std::uint32_t rows) {
    const std::unique_ptr<Transaction> tx = store_.begin();
    const Ids ids = ids_in(tx->execute(sql_.locked(sql_.keyless(), rows)));
    if (ids.empty()) return 0;
    if (sizes_of(*tx, ids).size() < ids.size()) throw bad_id("does not find its rows again");
    for (const std::string& id : ids)
        tx->execute(sql_.set_key(id, sql_.key_of(sql_.text_of("id", id))));
    const std::size_t left = tx->execute(sql_.sizes(ids, sql_.keyless())).size();
    if (left == ids.size())
        throw std::invalid_argument(
            fmt::format("table {} does not keep the keys it is given", sql_.table().name));
    tx->commit();
    return ids.size() - left;
}

}  // namespace postroom::adoption
