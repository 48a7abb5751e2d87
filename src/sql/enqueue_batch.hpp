// EnqueueBatch: the statements that store some messages, and what the database says of each.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "postroom/clock.hpp"
#include "postroom/store.hpp"
#include "queue/hot_path.hpp"
#include "sql/compiled.hpp"
#include "sql/message_params.hpp"
#include "sql/packed_rows.hpp"
#include "sql/runner.hpp"

namespace postroom::sql {

// With a nonce of its own. `message` must outlive it.
OutboxRow outbox_row(const NewMessage& message, Random& random);

std::vector<const NewMessage*> pointers_to(std::span<const NewMessage> messages);

// Throws Error{rejected} when the database has dropped some of `results`, which are those of one
// call; when it has stored others in a transaction of their own, Error{outcome_unknown}.
void require_stored(std::span<const EnqueueResult> results, bool own);

// Whose transaction the messages are written in, which says what its commit tells about them.
enum class WrittenIn {
    own,     // one for the messages alone: they are there when it is
    ours,    // of one of our connections: likewise, unless a savepoint was open
    foreign  // of a connection that only the caller knows, and on which he may have rolled back
};

WrittenIn written_in(TxContext* tx);

class EnqueueBatch {
public:
    using Messages = std::span<const NewMessage* const>;

    // `messages` and `born` must outlive the sending of the statements; the answers may come later.
    EnqueueBatch(const CompiledDialect& units, Messages messages, const BornLease* born,
                 Random& random, WrittenIn where);
    EnqueueBatch(const EnqueueBatch&) = delete;
    EnqueueBatch& operator=(const EnqueueBatch&) = delete;

    const Batch& statements() const { return statements_; }

    // Forgets what was answered: the statements are run again.
    void restart();
    // May come after the commit, which no failure here undoes: it needs no memory.
    void take(std::size_t tag, const Row& row);

    // In the order of the messages, once all is answered. A message that the database has dropped
    // without a word has no id.
    const std::vector<EnqueueResult>& results() const { return results_; }
    std::vector<EnqueueResult> take_results() { return std::move(results_); }

private:
    void add_plain(const CompiledDialect& units, const BornLease* born);
    std::size_t place_of(std::int64_t nonce);
    std::vector<const OutboxRow*> plain_rows() const;

    const WrittenIn where_;
    std::vector<OutboxRow> rows_;
    std::vector<std::size_t> plain_;  // those that a plain INSERT stores, in their order
    std::optional<OutboxColumns> columns_;
    std::deque<PackedRows> packed_;
    Batch statements_;
    std::size_t next_plain_ = 0;  // where the row after the last one is looked for
    std::vector<EnqueueResult> results_;
};

}  // namespace postroom::sql
