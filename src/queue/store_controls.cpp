#include "postroom/operator.hpp"

#include <tuple>

namespace postroom {

StoreControls* controls_of(Store& store) { return dynamic_cast<StoreControls*>(&store); }

void StoreControls::note_repeat(const std::string& /*source*/, Repeat /*what*/) {}
std::vector<SourceRepeats> StoreControls::repeats() const { return {}; }

bool is_silent(const WorkerReport& worker, Instant now) {
    constexpr int missed_reports = 3;
    return now - worker.last_seen > missed_reports * worker.interval;
}

bool started_before(const WorkerReport& a, const WorkerReport& b) {
    return std::tie(a.started, a.owner, a.queue) < std::tie(b.started, b.owner, b.queue);
}

std::string_view to_string(Outcome outcome) {
    switch (outcome) {
        case Outcome::ack:
            return "ack";
        case Outcome::abandon:
            return "abandon";
        case Outcome::fail:
            return "fail";
        case Outcome::release:
            return "release";
    }
    return "unknown";
}

void shift_times(WorkerReport& worker, Duration by) {
    worker.started += by;
    worker.last_seen += by;
    for (CircuitReport& circuit : worker.circuits) {
        circuit.since += by;
        circuit.next_probe += by;
    }
}

const OwnerToken& discard_owner() {
    static const OwnerToken owner{Uuid::parse("d15ca4d0-0000-4000-8000-000000000000").value()};
    return owner;
}

bool was_discarded(const Message& message) {
    return message.state == State::done && message.processed_by == discard_owner().to_string();
}

}  // namespace postroom
