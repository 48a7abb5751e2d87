// Messages as a dispatcher would hand them to a sink.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "postroom/message.hpp"
#include "postroom/sink.hpp"

namespace postroom::test {

inline Message message_with(const std::string& id, const std::string& payload = "{}") {
    Message message;
    message.message_id = MessageId(id);
    message.topic = "order.placed";
    message.payload = payload;
    message.content_type = "application/json";
    message.aggregate_type = AggregateType::global().str();
    message.created_at = std::chrono::sys_days{std::chrono::year{2026} / 1 / 31};
    return message;
}

inline Message keyed_message(const std::string& id, const std::string& key) {
    Message message = message_with(id);
    message.ordering_key = key;
    return message;
}

inline std::vector<Verdict> send_all(Sink& sink, const std::vector<Message>& messages,
                                     std::stop_token stop = {}) {
    return sink.send(messages, std::move(stop));
}

inline Verdict send_one(Sink& sink, const Message& message) {
    return sink.send(std::span(&message, 1), {}).at(0);
}

}  // namespace postroom::test
