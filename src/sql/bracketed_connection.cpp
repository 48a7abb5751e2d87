#include "sql/bracketed_connection.hpp"

#include "sql/transactions.hpp"

namespace postroom::sql {

void BracketedConnection::run(Bracket bracket, std::span<const Call> calls, const OnRow& on_row) {
    require_usable(bracket);
    guarded([&] {
        switch (bracket) {
            case Bracket::transaction:
                return run_in_transaction(calls, on_row);
            case Bracket::separate:
                return run_separate(calls, on_row);
            case Bracket::joined:
                return run_joined(calls, on_row);
        }
    });
}

void BracketedConnection::run_in_transaction(std::span<const Call> calls, const OnRow& on_row) {
    if (!needs_transaction(calls)) return run_alone(calls, on_row);
    send_begin(calls);
    try {
        run_all(calls, on_row);
        send_commit();
    } catch (...) {
        rollback_quietly("ROLLBACK");
        throw;
    }
}

// A call that is a transaction by itself ends it, but not when it is cut off.
void BracketedConnection::run_separate(std::span<const Call> calls, const OnRow& on_row) {
    try {
        run_all(calls, on_row);
    } catch (...) {
        rollback_quietly("ROLLBACK");
        throw;
    }
}

// A unit that fails half-way must leave nothing behind in a transaction whose owner may go on and
// commit.
void BracketedConnection::run_joined(std::span<const Call> calls, const OnRow& on_row) {
    if (!needs_savepoint(calls)) return run_all(calls, on_row);
    send(savepoint_.set);
    try {
        run_all(calls, on_row);
    } catch (...) {
        rollback_quietly(savepoint_.undo);
        rollback_quietly(savepoint_.release);
        throw;
    }
    send(savepoint_.release);
}

void BracketedConnection::run_open(std::span<const Call> calls, const OnRow& on_row) {
    guarded([&] { run_all(calls, on_row); });
}

void BracketedConnection::begin() {
    undone_ = false;
    watched_ = false;
    guarded([&] { send_begin({}); });
}

void BracketedConnection::watch_transaction() {
    if (watched_) return;
    guarded([&] { set_mark(); });
    watched_ = true;
}

void BracketedConnection::commit() {
    guarded([&] {
        if (watched_ && !mark_stands()) throw ended_before();
        send_commit();
    });
}

void BracketedConnection::rollback() {
    guarded([&] { send("ROLLBACK"); });
}

std::vector<std::optional<std::string>> cells_of_row(const Row& row, int columns) {
    std::vector<std::optional<std::string>> cells;
    for (int i = 0; i < columns; ++i)
        cells.push_back(row.null(i) ? std::nullopt : std::optional<std::string>(row.blob(i)));
    return cells;
}

}  // namespace postroom::sql
