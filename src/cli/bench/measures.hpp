// What `postroom bench` measures: how fast messages are enqueued, drained and handed over.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/interrupt.hpp"
#include "postroom/store.hpp"

namespace postroom::cli {

struct Measure {
    std::string name;
    std::string what;
    std::uint64_t messages = 0;
    double seconds = 0;  // 0: it is about the single message, not about how many
    // Of a transaction, a batch, or the way from the commit to the handler; in order.
    std::vector<std::chrono::microseconds> times{};
};

// The time below which so much of all were, from 0 to 1; zero when there are none.
std::chrono::microseconds percentile(const Measure& measure, double part);

struct Load {
    std::chrono::milliseconds each{2000};  // for one measure
    std::size_t payload_bytes = 200;
    const Interrupt* interrupt = nullptr;  // Failure when it comes
};

// One message and its commit after the other.
Measure measure_enqueue(Store& store, const Load& load);
// Batches of a hundred, a transaction each.
Measure measure_enqueue_all(Store& store, const Load& load);
// Claims and acks what the two above have left, a hundred at a time.
Measure measure_drain(Store& store, const Load& load);
// Messages written through `writer`, one after the other, to a dispatcher on `reader`: the same
// object, or another as in another process. Both are empty before and after.
Measure measure_latency(Store& writer, Store& reader, const Load& load);

}  // namespace postroom::cli
