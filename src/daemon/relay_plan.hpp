// RelayPlan: what a relay is to do, as values: which stores, which sinks, and what goes where.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "postroom/dispatcher.hpp"
#include "postroom/log.hpp"
#include "postroom/open_store.hpp"
#include "postroom/sink.hpp"

namespace postroom::daemon {

struct StorePlan {
    std::string name{};
    std::string url{};
    OpenOptions options{};
};

// Topics that match `pattern` ('*' stands for any characters) go to the sink of this name.
struct RoutePlan {
    std::string pattern{};
    std::string sink{};
};

struct LogPlan {
    LogLevel level = LogLevel::info;
    bool per_message = true;
    bool json = false;
};

struct RelayPlan {
    std::vector<StorePlan> stores{};
    std::vector<SinkConfig> sinks{};
    std::vector<RoutePlan> routes{};  // the first that matches counts
    DispatcherOptions dispatcher{};   // `observer` is the relay's
    std::size_t connections_max = 64;
    LogPlan log{};
};

}  // namespace postroom::daemon
