#include "admin/workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/duration_text.hpp"
#include "base/utf8.hpp"

namespace postroom::admin {

namespace {

constexpr std::size_t circuit_error_width = 300;

void merge(CircuitReport& into, const CircuitReport& other) {
    // Whoever probes last knows best.
    if (other.next_probe > into.next_probe) into.error = other.error;
    into.since = std::min(into.since, other.since);
    into.next_probe = std::min(into.next_probe, other.next_probe);
    std::set<std::string> topics(into.topics.begin(), into.topics.end());
    topics.insert(other.topics.begin(), other.topics.end());
    into.topics.assign(topics.begin(), topics.end());
}

}  // namespace

std::vector<WorkerReport> workers_of(Store& store, Queue queue) {
    StoreControls* const desk = controls_of(store);
    if (desk == nullptr) return {};
    std::vector<WorkerReport> workers = desk->workers();
    std::erase_if(workers, [&](const WorkerReport& worker) { return worker.queue != queue; });
    return workers;
}

std::vector<CircuitReport> destinations_down(const std::vector<WorkerReport>& workers) {
    std::map<std::string, CircuitReport> down;
    for (const WorkerReport& worker : workers) {
        for (const CircuitReport& circuit : worker.circuits) {
            const auto [at, added] = down.emplace(circuit.destination, circuit);
            if (!added) merge(at->second, circuit);
        }
    }
    std::vector<CircuitReport> out;
    for (auto& [destination, circuit] : down) out.push_back(std::move(circuit));
    return out;
}

std::optional<CircuitReport> circuit_for(const Message& message,
                                         const std::vector<CircuitReport>& down, Instant now) {
    if (message.state != State::ready || (message.due_time && *message.due_time > now))
        return std::nullopt;
    const auto at = std::ranges::find_if(down, [&](const CircuitReport& circuit) {
        return std::ranges::find(circuit.topics, message.topic) != circuit.topics.end();
    });
    return at == down.end() ? std::nullopt : std::optional(*at);
}

std::string_view without_destination(std::string_view error, std::string_view destination) {
    if (destination.empty() || !error.starts_with(destination)) return error;
    const std::string_view rest = error.substr(destination.size());
    for (const std::string_view joint : {": ", " "})
        if (rest.starts_with(joint)) return rest.substr(joint.size());
    return error;
}

std::string sentence_of(const CircuitReport& circuit, Instant now) {
    const std::string_view error = without_destination(circuit.error, circuit.destination);
    const Duration since = std::max(Duration::zero(), Duration(now - circuit.since));
    const Duration left = circuit.next_probe - now;
    return fmt::format(
        "{}: {}{}down for {}, {}", circuit.destination, base::shortened(error, circuit_error_width),
        error.empty() ? "" : ", ",
        base::format_duration(std::chrono::floor<std::chrono::seconds>(since)),
        left > Duration::zero()
            ? fmt::format("next probe in {}",
                          base::format_duration(std::chrono::ceil<std::chrono::seconds>(left)))
            : "being probed");
}

}  // namespace postroom::admin
