// Adoption: takes over the messages of an outbox table that somebody else designed.
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
#include <stdexcept>
#include <string>
#include <vector>

#include "adoption/table_sql.hpp"

namespace postroom::adoption {

// The names of a table's columns; none when there is no such table. Throws std::invalid_argument
// for a store that is no SQL database.
std::vector<std::string> columns_of(Store& store, const std::string& table);

class Adoption {
public:
    struct Request {
        std::uint32_t rows = 1000;  // in one chunk
        bool dead = false;          // dead rows too, as new messages
        bool remove = false;        // instead of marking them as processed
    };
    struct Taken {
        std::uint64_t rows = 0;      // taken over; 0: nothing is left that may be, unless `held`
        std::uint64_t enqueued = 0;  // messages that came of it; the others were there before
        bool held = false;           // rows wait, but others have locked them: come again later
    };
    struct Counts {
        std::uint64_t pending = 0;  // can be taken over now
        std::uint64_t dead = 0;
    };

    // `store` must outlive this object. Throws std::invalid_argument for a table without the
    // columns it needs.
    Adoption(Store& store, ClassicTable table);

    // Throws std::invalid_argument when the table's status does not tell what waits.
    Counts count();

    // One chunk, of the oldest rows; fewer than asked for when their payloads are large. Where an
    // ordering_key is mapped they are numbered in the order of their age and no locked one is
    // passed over. Throws std::invalid_argument as count() does, for an id that is missing or not
    // unique, and for a row that breaks a limit of ours, which it names; then the chunk is undone.
    Taken take(const Request& request);

    // Gives up to `rows` rows that have an id, but no idempotency key, one, whatever their state,
    // in the table itself. Returns how many; 0 when all have one that nobody else has locked.
    // Throws std::invalid_argument when an id is not unique or the table does not keep the keys.
    std::uint64_t backfill(std::uint32_t rows);
    std::uint64_t count_without_key();

private:
    struct Chunk {
        Ids ids{};
        std::vector<NewMessage> messages{};
    };

    std::invalid_argument bad_id(const char* what) const;
    SqlRows sizes_of(TxContext& tx, const Ids& ids) const;
    Ids within_bytes(Ids ids, const SqlRows& sizes) const;
    Chunk locked_chunk(TxContext& tx, const Ids& ids, const std::string& waiting) const;
    std::invalid_argument in_row(const std::string& id, const char* what) const;

    Store& store_;
    const TableSql sql_;
};

}  // namespace postroom::adoption
