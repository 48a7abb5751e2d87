// What the log says about an event, and how loudly. Pure; LogObserver decides what is written.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "postroom/observer.hpp"

namespace postroom {

// How an event is logged; nullopt where nothing is said about it.
struct LogForm {
    LogLevel level = LogLevel::debug;
    std::string_view name{};   // without the queue: "WORKER_FETCH"
    bool per_message = false;  // comes for every message that goes well
};
std::optional<LogForm> log_form_of(const Event& event);

// "OUTBOX_WORKER_FETCH"
std::string log_name(Queue queue, std::string_view name);

std::string log_text(const Event& event, const LogForm& form, std::size_t max_value_chars);

}  // namespace postroom
