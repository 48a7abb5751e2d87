#include "conformance/postgres/function_store.hpp"

#include <fmt/format.h>

namespace postroom::test {

SqlRows FunctionStore::call(TxContext& tx, Queue queue, std::string_view verb,
                            const Arguments& arguments) {
    return tx.execute(statement(fmt::format("SELECT * FROM infra.{}_{}(", to_string(queue), verb),
                                arguments, ")"));
}

// The function does not tell whether the message was there before.
EnqueueResult FunctionStore::enqueue_one(TxContext& tx, const NewMessage& m) {
    const std::string& id = m.message_id.str();
    const bool known = !tx.execute({.sql = "SELECT 1 FROM infra.outbox WHERE message_id = $1::text",
                                    .params = {id}})
                            .empty();
    const WorkItemId item = item_in(
        call(tx, Queue::outbox, "enqueue",
             {Argument::text(m.topic.str()), Argument::bytes(*m.payload),
              Argument::text_or_null(m.correlation_id), Argument::time(m.due_time),
              Argument::text_or_null(m.tenant_id), Argument::text_or_null(m.idempotency_key),
              Argument::text_or_null(m.ordering_key), Argument::headers(m.headers),
              Argument::text(m.content_type), Argument::text(id), Argument::number(m.priority),
              Argument::number_or_null(m.max_attempts), Argument::time(m.expires_at),
              Argument::time(m.occurred_at), Argument::text(m.aggregate_type.str()),
              Argument::text_or_null(m.aggregate_id)}));
    const MessageId stored = message_id_of(tx, "infra.outbox", item);
    return {.id = item, .message_id = stored, .already_existed = known || stored != m.message_id};
}

WorkItemId FunctionStore::receive_one(TxContext& tx, const ReceivedMessage& m, bool revive) {
    return item_in(
        call(tx, Queue::inbox, "enqueue",
             {Argument::text(m.topic.str()), Argument::text(m.source), Argument::text(m.message_id),
              Argument::bytes(*m.payload), Argument::bytes_or_null(m.hash),
              Argument::time(m.due_time), Argument::text(m.content_type),
              Argument::headers(m.headers), Argument::text_or_null(m.ordering_key),
              Argument::number(m.priority), Argument::number_or_null(m.max_attempts),
              Argument::time(m.expires_at), Argument::flag(revive)}));
}

std::string FunctionStore::parameter(int number, Argument::Type type) const {
    const auto cast = [number](const char* to) { return fmt::format("${}::{}", number, to); };
    switch (type) {
        case Argument::Type::text:
            return cast("text");
        case Argument::Type::bytes:
            return cast("bytea");
        case Argument::Type::number:
            return cast("integer");
        case Argument::Type::lease:
            return cast("bigint");
        case Argument::Type::owner:
            return cast("uuid");
        case Argument::Type::flag:
            return cast("boolean");
        case Argument::Type::time:
            return "timestamptz 'epoch' + " + cast("bigint * interval '1 microsecond'");
        case Argument::Type::duration:
            return cast("bigint * interval '1 microsecond'");
        case Argument::Type::json:
            return cast("jsonb");
        case Argument::Type::ids:
            return "ARRAY(SELECT jsonb_array_elements_text(" + cast("jsonb") + ")::uuid)";
    }
    return cast("text");
}

std::string FunctionStore::hex(const std::string& column) const {
    return fmt::format("encode({}, 'hex')", column);
}

std::string FunctionStore::abandoned_rows(Queue queue) const {
    return fmt::format("infra.{}", to_string(queue));
}

std::string FunctionStore::inbox_rows() const { return "infra.inbox"; }

std::string FunctionStore::inbox_state() const { return "state"; }

}  // namespace postroom::test
