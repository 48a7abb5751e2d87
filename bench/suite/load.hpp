// Load: threads that write or drain as fast as they can, and what that costs.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <functional>

#include "storage/measure.hpp"
#include "suite/engines/engine.hpp"
#include "suite/results.hpp"

namespace bench {

// From its birth to finish(): time, processor time of this process and of the server, log bytes.
class Meter {
public:
    explicit Meter(Engine& engine);
    Sample finish(double messages);

private:
    Engine& engine_;
    double server_cpu_;
    double log_bytes_;
    double client_cpu_;
    Stopwatch watch_;
};

// What one thread does again and again; returns how many messages that were.
using Step = std::function<std::size_t()>;
// Makes the step of one thread, in that thread, with what it needs: a connection, for example.
using MakeStep = std::function<Step(int thread)>;
// Waits for what the steps have started; counted as a part of the sample. Gets the messages.
using Finish = std::function<void(std::size_t)>;

// All threads for so long. Each step is made, and run a few times, before the clock starts.
Sample measure_load(Engine& engine, int threads, double seconds, const MakeStep& make_step,
                    const Finish& finish = {});

// All threads until `backlog` messages are drained. A step that drained none is called again.
Sample measure_drain(Engine& engine, int threads, std::size_t backlog, const MakeStep& make_step);

}  // namespace bench
