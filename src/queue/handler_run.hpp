// Calling a handler, and what came of it. What a handler throws never comes out of here.
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/handler.hpp"

namespace postroom {

// How long a message rests whose destination or database was at fault.
constexpr Duration blameless_pause = std::chrono::seconds{1};

// The error of a delivery that was dropped without an outcome.
inline constexpr std::string_view dropped_delivery = "the delivery was dropped without an outcome";

// The error of a message that nobody got before its time was over.
inline constexpr std::string_view expired_error = "expired before it could be delivered";

// The error of a message that no handler takes. An aggregate type that nobody gave is not told.
std::string unroutable_error(const Message& message);

struct HandlerRun {
    Verdict verdict{};
    std::optional<Settled> settled{};  // the handler's transaction settled the message already
};

// For routes with a handler or a batch handler. A handler in a transaction commits its writes
// together with the done mark; a lease that was lost meanwhile undoes both, because another worker
// has the message now.
HandlerRun run_handler(Store& store, const Routes::Route& route, const Message& message,
                       std::stop_token stop);

// For routes with a batch handler.
std::vector<Verdict> run_batch_handler(const Store& store, const Routes::Route& route,
                                       std::span<const Message> messages, std::stop_token stop);

}  // namespace postroom
