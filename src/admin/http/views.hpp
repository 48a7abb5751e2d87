// JSON of what the admin API tells about stores, topics, destinations and workers.
#pragma once

#include <string>
#include <vector>

#include "admin/http/context.hpp"

namespace postroom::admin {

enum class Series : bool { left_out, told };
std::string overview_view(const Context& context, Series series);

std::string backlog_view(const Counts& counts);
std::string worker_view(const Context& context, const std::string& store,
                        const WorkerReport& worker);
// Arrays.
std::string topics_view(const Context& context, const std::optional<std::string>& store,
                        std::size_t topics_max);
std::string destinations_view(const Context& context);

double seconds(Duration duration);

// A destination with what the workers of all processes say of it.
struct DestinationReport {
    struct Circuit {
        std::string store{};
        const WorkerReport* worker = nullptr;
        CircuitReport report{};
        bool open = false;  // else: it is being probed
    };
    std::string destination{};
    std::string sink{};
    std::vector<std::string> patterns{};
    std::vector<Circuit> circuits{};  // that are not closed

    // The one that is open for longest; nullptr: all are closed.
    const Circuit* worst() const;
};
// `views` must outlive what comes back.
std::vector<DestinationReport> destinations_of(const Context& context,
                                               const std::map<std::string, StoreView>& views);

}  // namespace postroom::admin
