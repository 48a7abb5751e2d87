// Who is at work on a store, and which destinations they wait for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/operator.hpp"

namespace postroom::admin {

// In the order in which they started; none for a store without controls.
std::vector<WorkerReport> workers_of(Store& store, Queue queue);

// The destinations that are down for these workers, each once, in order of their names: since the
// first of them noticed, with the last error, until the first of them tries again.
std::vector<CircuitReport> destinations_down(const std::vector<WorkerReport>& workers);

// Which of the destinations that are `down` a ready message waits for: its topic was met there, and
// it is due.
std::optional<CircuitReport> circuit_for(const Message& message,
                                         const std::vector<CircuitReport>& down, Instant now);

// Sinks begin their errors with where they come from: "http://a answered 503" is "answered 503".
std::string_view without_destination(std::string_view error, std::string_view destination);

// "http://orders.internal: connection refused, since 3m, next probe in 20s"
std::string sentence_of(const CircuitReport& circuit, Instant now);

}  // namespace postroom::admin
