// RelayPlan: what a relay is to do, as values: which stores, which sinks, and what goes where.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "postroom/admin.hpp"
#include "postroom/dispatcher.hpp"
#include "postroom/observer.hpp"
#include "postroom/open_store.hpp"
#include "postroom/otlp.hpp"
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
    std::optional<RetryPolicy> retry{};  // none: the dispatcher's
};

struct LogPlan {
    LogLevel level = LogLevel::info;
    bool per_message = true;
    bool json = false;
};

struct RelayPlan {
    std::vector<StorePlan> stores{};
    std::vector<SinkConfig> sinks{};
    std::map<std::string, double> rates{};  // messages a second, of sinks that are limited
    std::vector<RoutePlan> routes{};        // the first that matches counts
    DispatcherOptions dispatcher{};         // `observer` is the relay's
    RestoreGuardOptions restore_guard{};    // of every store
    std::size_t connections_max = 64;
    LogPlan log{};
    std::optional<OtlpSettings> tracing{};  // none: no spans
    AdminOptions admin{};  // `listen` empty: no server. Dispatcher, routes and log are the relay's
    std::vector<std::string> warnings{};  // what is odd about the configuration
};

}  // namespace postroom::daemon
