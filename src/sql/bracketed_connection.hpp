// BracketedConnection: what drivers share whose engine takes one statement at a time.
//
// It puts transactions and savepoints around the calls of a run and decides what becomes of the
// connection when one fails. The driver says how its engine runs a statement, and when a call needs
// no bracket because it undoes itself.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "postroom/error.hpp"
#include "postroom/transaction.hpp"
#include "sql/connection.hpp"

namespace postroom::sql {

// Statements around a unit that joins a transaction. Empty: the engine needs none.
struct SavepointWords {
    const char* set;
    const char* undo;
    const char* release;
};

// As the SQL standard has them.
inline constexpr SavepointWords standard_savepoint{.set = "SAVEPOINT postroom_unit",
                                                   .undo = "ROLLBACK TO SAVEPOINT postroom_unit",
                                                   .release = "RELEASE SAVEPOINT postroom_unit"};

class BracketedConnection : public Connection {
public:
    void run(Bracket bracket, std::span<const Call> calls, const OnRow& on_row) override;
    void run_open(std::span<const Call> calls, const OnRow& on_row) override;
    void begin() override;
    void commit() override;
    void rollback() override;
    // To be called before the user of a transaction of ours gets at the native connection: commit()
    // then notices when somebody has ended it there, whatever has been begun since.
    void watch_transaction();
    bool healthy() const override { return !broken_; }
    bool undone_by_failure() const override { return undone_ || user_met_failure(); }

protected:
    // A connection of our own.
    explicit BracketedConnection(const SavepointWords& savepoint) : savepoint_(savepoint) {}
    // The caller's.
    BracketedConnection(const SavepointWords& savepoint, BorrowOptions options)
        : borrowed_(true), keeps_statements_(options.prepare), savepoint_(savepoint) {}

    // Throws Error{misuse} where the connection is in no state for this.
    virtual void require_usable(Bracket bracket) const = 0;
    virtual void run_all(std::span<const Call> calls, const OnRow& on_row) = 0;
    // One statement without values and rows.
    virtual void send(const char* statement) = 0;
    // Begins a transaction for `calls`; for none: one of the user, who may take time.
    virtual void send_begin(std::span<const Call> calls) = 0;
    // Throws Error{outcome_unknown} when nobody can say whether it took place.
    virtual void send_commit() = 0;
    // The error that led here is the one to report.
    virtual void rollback_quietly(const char* statement) noexcept = 0;

    // A mark in the open transaction that goes when it ends, and whether it is still there.
    virtual void set_mark() = 0;
    virtual bool mark_stands() = 0;

    // False: run_alone() does without.
    virtual bool needs_transaction(std::span<const Call> calls) = 0;
    virtual bool needs_savepoint(std::span<const Call> calls) = 0;
    virtual void run_alone(std::span<const Call> calls, const OnRow& on_row) {
        run_all(calls, on_row);
    }

    // Whether the last thing that a user of the native handle heard was an error that undoes
    // transactions.
    virtual bool user_met_failure() const { return false; }

    // Called with whatever failed: here the driver may give the connection up.
    virtual void failed(const Error& error) = 0;
    virtual void forget_statements() = 0;

    // Around everything that runs.
    template <class Work>
    void guarded(const Work& work) {
        try {
            work();
        } catch (const Error& error) {
            undone_ = !in_transaction();
            failed(error);
            if (borrowed_) forget_statements();
            throw;
        } catch (...) {
            forget_statements();
            throw;
        }
        if (!keeps_statements_) forget_statements();
    }

    bool borrowed() const { return borrowed_; }
    void give_up() { broken_ = true; }

private:
    void run_in_transaction(std::span<const Call> calls, const OnRow& on_row);
    void run_separate(std::span<const Call> calls, const OnRow& on_row);
    void run_joined(std::span<const Call> calls, const OnRow& on_row);

    const bool borrowed_ = false;
    const bool keeps_statements_ = true;
    const SavepointWords savepoint_;
    bool broken_ = false;
    bool undone_ = false;   // the last statement that failed has left no transaction
    bool watched_ = false;  // the transaction has a mark
};

// A row as users of Transaction::execute() get it.
std::vector<std::optional<std::string>> cells_of_row(const Row& row, int columns);

}  // namespace postroom::sql
