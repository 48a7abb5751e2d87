// EnqueueBatch: the statements that store some messages, and what the database says of each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "postroom/clock.hpp"
#include "postroom/store.hpp"
#include "sql/compiled.hpp"
#include "sql/outbox_columns.hpp"
#include "sql/runner.hpp"

namespace postroom::sql {

// With a nonce of its own. `message` must outlive it.
OutboxRow outbox_row(const NewMessage& message, Random& random);

class EnqueueBatch {
public:
    // `messages` and `born` must outlive the sending of the statements; the answers may come later.
    // `own`: in a transaction of its own, which nobody's savepoint can take back.
    EnqueueBatch(const CompiledDialect& units, std::span<const NewMessage> messages,
                 const BornLease* born, Random& random, bool own);
    EnqueueBatch(const EnqueueBatch&) = delete;
    EnqueueBatch& operator=(const EnqueueBatch&) = delete;

    const Batch& statements() const { return statements_; }

    // Forgets what was answered: the statements are run again.
    void restart() { next_plain_ = 0; }
    void take(std::size_t tag, const Row& row);

    // In the order of the messages, once all is answered.
    const std::vector<EnqueueResult>& results() const { return results_; }

private:
    void add_plain(const CompiledDialect& units, const BornLease* born);

    const bool own_;
    std::vector<OutboxRow> rows_;
    std::vector<std::size_t> plain_;  // those that a plain INSERT stores, in the order of its rows
    std::optional<OutboxColumns> columns_;
    Batch statements_;
    std::size_t next_plain_ = 0;
    std::vector<EnqueueResult> results_;
};

}  // namespace postroom::sql
