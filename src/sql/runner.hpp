// Runner: runs units, either in the caller's transaction or in one of our own that is repeated on
// conflict.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "postroom/error.hpp"
#include "postroom/open_store.hpp"
#include "sql/backend.hpp"
#include "sql/pool.hpp"
#include "sql/write_group.hpp"

namespace postroom::sql {

// Calls that belong together, with the parameters they point at.
class Batch {
public:
    // Adds every statement of `unit`; returns the parameters to fill in. `tag` comes back with each
    // row.
    Params& add(const Unit& unit, std::size_t tag = 0);

    std::vector<Call> calls() const;
    std::size_t tag(std::size_t call) const { return tags_[call]; }
    bool empty() const { return statements_.empty(); }

private:
    std::deque<Params> params_;
    std::vector<const Statement*> statements_;
    std::vector<const Params*> params_of_;
    std::vector<std::size_t> tags_;
};

// `tag` is that of the unit which yields the row.
using OnTaggedRow = std::function<void(std::size_t tag, const Row& row)>;

class Runner {
public:
    // `main`: this one goes first. Its connections may use what a budget keeps back from the
    // others, and where writers stand in line, it stands before those of `main`, which must outlive
    // it.
    Runner(const Backend& backend, const OpenOptions& options, const void* origin,
           const Runner* main = nullptr);

    // Runs the batch in `tx`, or with nullptr in a transaction of its own (`separate`: one for each
    // statement). A unit of our own that meets a conflict is repeated as a whole; `restart` is
    // called before each try, to forget what a failed one yielded.
    void run(TxContext* tx, const Batch& batch, bool separate, const std::function<void()>& restart,
             const OnTaggedRow& on_row, std::stop_token stop = {});

    // Runs a small unit that writes. Its own transaction may be one that it shares with the
    // units of other threads; it succeeds or fails by itself.
    void run_shared(TxContext* tx, const Batch& batch, const std::function<void()>& restart,
                    const OnTaggedRow& on_row);

    // Runs the batch within `tx`, where nobody waits for the answers: `on_row`, and an error, may
    // come with the next statement of the transaction or with its commit.
    void run_later(TxContext& tx, const Batch& batch, OnTaggedRow on_row);

    std::unique_ptr<Transaction> begin();

    // A query with the engine's own placeholders, outside of any transaction.
    SqlRows read(const SqlStatement& query);

private:
    template <class Try>
    void repeat(const std::stop_token& stop, const Try& once);
    void run_in_turn(Bracket bracket, std::span<const Call> calls, const OnRow& on_row,
                     const std::stop_token& stop);
    void run_joined(TxContext& tx, std::span<const Call> calls, const OnRow& on_row);
    // The one of ours that `tx` stands on; nullptr: only the caller knows its connection.
    Connection* connection_within(TxContext& tx) const;
    void pause_before_retry(std::uint32_t attempt, const std::stop_token& stop);
    [[noreturn]] void rethrow(const Error& error) const;

    SqlValue (*const render_)(const Value&);
    const std::string peer_;
    const std::uint32_t conflict_retries_;
    const Duration patience_;
    const void* const origin_;
    const bool urgent_;
    Pool pool_;
    // Its own or that of `main`; nullptr: the database has no use for one.
    const std::shared_ptr<WriteGroup> group_;
};

}  // namespace postroom::sql
