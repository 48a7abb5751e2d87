// The parameters of the outbox INSERTs, for one message or as arrays for many.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/store.hpp"
#include "sql/value.hpp"

namespace postroom::sql {

// What a row needs beside the message itself.
struct OutboxRow {
    const NewMessage* message = nullptr;
    std::int64_t nonce = 0;
    std::string headers;  // JSON; empty: none
};

// True when the message cannot take the plain INSERT: it has an idempotency key, a due time or a
// low priority.
bool needs_enqueue(const NewMessage& message);
// True when the message has nothing but a topic and a payload.
bool is_bare(const NewMessage& message);

void set_born(Params& params, const BornLease* born);
void set_bare(Params& params, const OutboxRow& row);
void set_message(Params& params, const OutboxRow& row);

// Holds the arrays that the parameters of a multi-row INSERT point at.
class OutboxColumns {
public:
    // `bare`: only what set_bare() sets.
    OutboxColumns(std::span<const OutboxRow* const> rows, bool bare);
    void set(Params& params) const;

private:
    using Texts = std::vector<std::optional<std::string_view>>;
    using Times = std::vector<std::optional<Instant>>;

    void add(const OutboxRow& row);

    bool bare_;
    std::vector<std::int64_t> nonce_, priority_, max_attempts_;
    std::vector<BlobView> payload_;
    Texts message_id_, topic_, content_type_, headers_, correlation_id_, tenant_id_,
        idempotency_key_, aggregate_type_, aggregate_id_, ordering_key_;
    Times occurred_at_, expires_at_;
};

}  // namespace postroom::sql
