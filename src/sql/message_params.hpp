// The fields of a message as parameters: for one message, or as arrays for many.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "postroom/store.hpp"
#include "queue/hot_path.hpp"
#include "queue/message_fields.hpp"
#include "sql/value.hpp"

namespace postroom::sql {

// What a row needs beside the message itself.
struct OutboxRow {
    const NewMessage* message = nullptr;
    std::int64_t nonce = 0;
    std::string headers;  // JSON; empty: none
};

// True when the message cannot take the plain INSERT: it has an idempotency key, a due time, an
// ordering key or a low priority.
bool needs_enqueue(const NewMessage& message);
// True when the message has nothing but a topic and a payload.
bool is_bare(const NewMessage& message);

void set_born(Params& params, const BornLease* born);
// The fields of `set`, each under its name.
void set_message(Params& params, const OutboxRow& row, FieldSet set = in_enqueue);
// :key and :due_time, for the unit that enqueues with those.
void set_schedule(Params& params, const NewMessage& message);
// The fields of in_receive. `headers`: JSON, empty for none.
void set_received(Params& params, const ReceivedMessage& message, const std::string& headers,
                  std::int64_t nonce);

// Holds the arrays that the parameters of a multi-row INSERT point at.
class OutboxColumns {
public:
    OutboxColumns(std::span<const OutboxRow* const> rows, FieldSet set);
    void set(Params& params) const;

private:
    using Integers = std::vector<std::int64_t>;
    using Texts = std::vector<std::optional<std::string_view>>;
    using Blobs = std::vector<BlobView>;
    using Times = std::vector<std::optional<Instant>>;
    using Column = std::variant<std::monostate, Integers, Texts, Blobs, Times>;

    void add(FieldIndex index, const Value& value);

    std::array<Column, message_fields.size()> columns_;
};

}  // namespace postroom::sql
