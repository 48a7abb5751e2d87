#include "sql/runner.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "base/sleep.hpp"
#include "postroom/error.hpp"
#include "sql/transactions.hpp"

namespace postroom::sql {

namespace {

constexpr Duration retry_pause_base = std::chrono::milliseconds{1};
constexpr Duration retry_pause_max = std::chrono::milliseconds{200};

bool only_reads(std::span<const Call> calls) {
    return std::all_of(calls.begin(), calls.end(),
                       [](const Call& call) { return call.statement->traits.reads_only; });
}

}  // namespace

Params& Batch::add(const Unit& unit, std::size_t tag) {
    Params& params = params_.emplace_back();
    for (const Statement& statement : unit.statements) {
        statements_.push_back(&statement);
        params_of_.push_back(&params);
        tags_.push_back(tag);
    }
    return params;
}

std::vector<Call> Batch::calls() const {
    std::vector<Call> out;
    out.reserve(statements_.size());
    for (std::size_t i = 0; i < statements_.size(); ++i) {
        out.push_back({.statement = statements_[i], .params = params_of_[i]});
    }
    return out;
}

Runner::Runner(const Backend& backend, const OpenOptions& options, const void* origin,
               const Runner* main)
    : render_(backend.dialect.render),
      peer_(backend.peer),
      conflict_retries_(options.conflict_retries),
      patience_(options.statement_timeout),
      origin_(origin),
      urgent_(main != nullptr),
      pool_(backend.connect, {.connections_max = options.pool_max,
                              .wait = options.pool_wait,
                              .budget = options.budget,
                              .essential = urgent_}),
      group_(main != nullptr ? main->group_
             : backend.group_commit
                 ? std::make_shared<WriteGroup>(pool_, WriteGroup::Waits{options.statement_timeout})
                 : nullptr) {}

std::unique_ptr<Transaction> Runner::begin() {
    try {
        if (!group_) return std::make_unique<SqlTransaction>(pool_.acquire(), origin_);
        WriteGroup::Turn turn(*group_);
        try {
            return std::make_unique<SqlTransaction>(pool_.acquire(), origin_);
        } catch (const Error& error) {
            turn.refuse(error);
            throw;
        }
    } catch (const Error& error) {
        rethrow(error);
    }
}

SqlRows Runner::read(const SqlStatement& query) {
    SqlRows rows;
    repeat({}, [&] { rows = pool_.acquire()->execute(query); });
    return rows;
}

void Runner::run(TxContext* tx, const Batch& batch, bool separate,
                 const std::function<void()>& restart, const OnTaggedRow& on_row,
                 std::stop_token stop) {
    const std::vector<Call> calls = batch.calls();
    const OnRow tagged = [&](std::size_t call, const Row& row) { on_row(batch.tag(call), row); };
    if (tx != nullptr) {
        run_joined(*tx, calls, tagged);
        return;
    }
    const Bracket bracket = separate ? Bracket::separate : Bracket::transaction;
    repeat(stop, [&] {
        restart();
        if (group_ && !only_reads(calls)) return run_in_turn(bracket, calls, tagged, stop);
        const PooledConnection connection = pool_.acquire(stop);
        connection->run(bracket, calls, tagged);
    });
}

// Where there is a group, a separate unit begins a transaction in its own text, and has ended it
// when it yields its first row.
void Runner::run_in_turn(Bracket bracket, std::span<const Call> calls, const OnRow& on_row,
                         const std::stop_token& stop) {
    WriteGroup::Turn turn(*group_, urgent_);
    const OnRow in_turn = [&](std::size_t call, const Row& row) {
        if (bracket == Bracket::separate) turn.end();
        on_row(call, row);
    };
    bool connected = false;
    try {
        const PooledConnection connection = pool_.acquire(stop);
        connected = true;
        connection->run(bracket, calls, in_turn);
    } catch (const Error& error) {
        // Whoever has begun is the only writer and meets no conflict; what else fails then concerns
        // nobody who waits. Nor does it when an urgent one, with connections of its own, has none.
        const bool told = connected ? error.kind() == ErrorKind::conflict : !urgent_;
        if (told && !stop.stop_requested()) turn.refuse(error);
        throw;
    }
}

void Runner::run_shared(TxContext* tx, const Batch& batch, const std::function<void()>& restart,
                        const OnTaggedRow& on_row) {
    if (tx != nullptr || !group_) return run(tx, batch, false, restart, on_row);
    const std::vector<Call> calls = batch.calls();
    const OnRow tagged = [&](std::size_t call, const Row& row) { on_row(batch.tag(call), row); };
    const GroupUnit unit{.calls = calls, .restart = restart, .on_row = tagged};
    bool alone = false;
    repeat({}, [&] { alone = !group_->run(unit); });
    if (alone) run(nullptr, batch, false, restart, on_row);
}

template <class Try>
void Runner::repeat(const std::stop_token& stop, const Try& once) {
    // A conflict may have waited for its lock as long as a statement may: then that was it.
    const auto give_up = std::chrono::steady_clock::now() + patience_;
    for (std::uint32_t attempt = 0;; ++attempt) {
        try {
            once();
            return;
        } catch (const Error& error) {
            const bool again = error.kind() == ErrorKind::conflict && attempt < conflict_retries_ &&
                               std::chrono::steady_clock::now() < give_up && !stop.stop_requested();
            if (!again) rethrow(error);
        }
        pause_before_retry(attempt, stop);
    }
}

void Runner::run_later(TxContext& tx, const Batch& batch, OnTaggedRow on_row) {
    const std::vector<Call> calls = batch.calls();
    std::vector<std::size_t> tags;
    for (std::size_t call = 0; call < calls.size(); ++call) tags.push_back(batch.tag(call));
    OnRow tagged = [tags = std::move(tags), on_row = std::move(on_row)](
                       std::size_t call, const Row& row) { on_row(tags[call], row); };
    if (Connection* const connection = connection_within(tx)) {
        connection->run_later(calls, std::move(tagged));
    } else {
        CallerConnection(tx, render_).run(Bracket::joined, calls, tagged);
    }
}

void Runner::run_joined(TxContext& tx, std::span<const Call> calls, const OnRow& on_row) {
    if (Connection* const connection = connection_within(tx)) {
        connection->run(Bracket::joined, calls, on_row);
    } else {
        CallerConnection(tx, render_).run(Bracket::joined, calls, on_row);
    }
}

Connection* Runner::connection_within(TxContext& tx) const {
    if (!tx.in_transaction()) {
        throw Error(ErrorKind::misuse,
                    "the given connection has no open transaction; begin one first");
    }
    auto* const holder = dynamic_cast<ConnectionHolder*>(&tx);
    if (holder == nullptr) return nullptr;
    if (holder->origin() != nullptr && holder->origin() != origin_) {
        throw Error(ErrorKind::misuse,
                    fmt::format("{}: the transaction belongs to another store", peer_));
    }
    return &holder->connection();
}

// Two units that collided must not come back at the same moment.
void Runner::pause_before_retry(std::uint32_t attempt, const std::stop_token& stop) {
    const Duration ceiling =
        std::min(retry_pause_max, retry_pause_base * (1U << std::min(attempt, 10U)));
    const auto span = static_cast<std::uint64_t>(ceiling.count());
    const Duration pause{static_cast<std::int64_t>(base::SystemRandom().next() % (span + 1))};
    base::sleep_for(stop, pause);
}

// Names the peer; the driver's text says what went wrong.
void Runner::rethrow(const Error& error) const {
    throw Error(error.kind(), fmt::format("{}: {}", peer_, error.what()));
}

}  // namespace postroom::sql
