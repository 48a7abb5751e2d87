// SinkNames: adds to what is told about a message the name of the sink that it goes to.
//
// Thread safety: immutable after construction; observe() may be called from many threads.
#pragma once

#include <vector>

#include "daemon/relay_plan.hpp"
#include "postroom/handler.hpp"
#include "postroom/observer.hpp"

namespace postroom::daemon {

class SinkNames final : public Observer {
public:
    // `next` must outlive this.
    SinkNames(const std::vector<RoutePlan>& routes, Observer& next);

    void observe(const Event& event) noexcept override;

private:
    Routes sinks_;  // a route's destination is here the sink's name
    Observer& next_;
};

}  // namespace postroom::daemon
