// TableAdoption: takes over the messages of an outbox table that somebody else designed.
//
// The rows of such a table that wait for delivery become messages of our outbox, in chunks. A chunk
// is one transaction: what is enqueued here is marked as processed, or removed, there, so that an
// interruption neither loses nor doubles a row and the next call goes on behind it. Old writers may
// go on inserting in the meantime; the old dispatcher must have been stopped, since nobody can tell
// what it has just sent.
//
// A row is known by its id, which must be unique in its table. A row without an idempotency key is
// given one that follows from the table (its schema and name, however they were spelled here) and
// the row's id: a row that comes again, from a backup perhaps, is known again as long as the dedupe
// window says.
//
// Thread safety: all operations may be called concurrently; two adoptions of one table share its
// rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "postroom/store.hpp"

namespace postroom {

// The table and what its columns mean. Names are spelled as the database has them.
struct ForeignTable {
    std::string name{};  // or schema.name
    // What a column means to its name: id, topic and payload must be there; of the message also
    // message_id, content_type, headers (a JSON object), correlation_id, tenant_id,
    // idempotency_key, aggregate_type, aggregate_id, ordering_key, priority, max_attempts,
    // occurred_at, due_time, expires_at. Of its state created_at, next_attempt_at, status,
    // is_processed, processed_at, locked_until, locked_at, retry_count.
    std::map<std::string, std::string> columns{};
    // Values of `status`: numbers for a column of numbers, words for any other. Where no other
    // column tells what was delivered, `pending` must name some; a row whose status is `finished`
    // is never taken.
    std::vector<std::string> pending{};
    std::vector<std::string> dead{};
    std::string finished{};
    // Where there is no max_attempts: rows that failed so often are dead. 0: none are.
    std::uint32_t max_attempts = 0;
    // A row that was locked_at so long ago is not being delivered any more.
    Duration lock_timeout = std::chrono::minutes{5};
};

struct AdoptRequest {
    ForeignTable table{};
    std::uint32_t chunk = 1000;
    bool dead = false;    // dead rows too, as new messages
    bool remove = false;  // instead of marking them as processed
};

struct AdoptResult {
    std::uint64_t rows = 0;      // taken over; 0: nothing is left that may be, unless `held`
    std::uint64_t enqueued = 0;  // messages that came of it; the others were there before
    bool held = false;           // rows wait, but others have locked them: come again later
};

struct AdoptCounts {
    std::uint64_t pending = 0;  // can be taken over now
    std::uint64_t dead = 0;
};

class TableAdoption {
public:
    TableAdoption() = default;
    TableAdoption(const TableAdoption&) = delete;
    TableAdoption& operator=(const TableAdoption&) = delete;
    virtual ~TableAdoption() = default;

    // The names of its columns; none when there is no such table.
    virtual std::vector<std::string> columns_of(const std::string& table) = 0;

    virtual AdoptCounts count(const ForeignTable& table) = 0;

    // One chunk, of the oldest rows; fewer than asked for when their payloads are large. Where an
    // ordering_key is mapped they are numbered in the order of their age and no locked one is
    // passed over. Throws std::invalid_argument for a table without the columns it needs, for an id
    // that is missing or not unique, and for a row that breaks a limit of ours, which it names;
    // then the chunk is undone.
    virtual AdoptResult adopt(const AdoptRequest& request) = 0;

    // Gives up to `chunk` rows that have an id, but no idempotency key, one, whatever their state,
    // in the table itself. Returns how many; 0 when all have one that nobody else has locked.
    // Throws std::invalid_argument when an id is not unique or the table does not keep the keys.
    virtual std::uint64_t backfill(const ForeignTable& table, std::uint32_t chunk) = 0;
    virtual std::uint64_t count_without_key(const ForeignTable& table) = 0;
};

// nullptr for a store that has no such thing.
TableAdoption* adoption_of(Store& store);

}  // namespace postroom
