#include "cli/input/message_writer.hpp"

#include "postroom/error.hpp"
#include "queue/sql_access.hpp"

namespace postroom::cli {

std::vector<Written> MessageWriter::write(std::span<const NewMessage> messages) const {
    std::vector<Written> out;
    for (const EnqueueResult& result : outbox_.enqueue_all(messages))
        out.push_back({.id = result.id,
                       .message_id = result.message_id,
                       .already_existed = result.already_existed});
    return out;
}

std::optional<std::vector<Written>> MessageWriter::call_routine(
    std::span<const NewMessage> messages) {
    SqlAccess* const access = sql_access_of(store_);
    if (access == nullptr) return std::nullopt;
    std::vector<NewMessage> named(messages.begin(), messages.end());
    for (NewMessage& message : named)
        if (message.message_id.empty()) message.message_id = MessageId(ids_.next());
    const auto results = access->enqueue_by_routine(named);
    if (!results) return std::nullopt;
    std::vector<Written> out;
    for (std::size_t i = 0; i < named.size(); ++i) {
        const NewMessage& given = messages[i];
        Written one{.id = (*results)[i].id, .already_existed = (*results)[i].already_existed};
        if (given.message_id.empty() && given.idempotency_key.empty()) one.already_existed = false;
        if (given.idempotency_key.empty() || one.already_existed == false)
            one.message_id = named[i].message_id;
        out.push_back(std::move(one));
    }
    return out;
}

std::optional<std::vector<Written>> MessageWriter::try_routine(
    std::span<const NewMessage> messages) {
    try {
        return call_routine(messages);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::rejected) throw;
        return std::nullopt;
    }
}

std::vector<Written> MessageWriter::enqueue_all(std::span<const NewMessage> messages) {
    if (by_routine_) return call_routine(messages).value();
    try {
        return write(messages);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::rejected) throw;
        // Nothing is stored. What is wrong with a message the routine refuses as well, and the
        // first reason is the better one.
        auto written = try_routine(messages);
        if (!written) throw;
        by_routine_ = true;
        return std::move(*written);
    }
}

}  // namespace postroom::cli
