// RelayAdmin: the admin server of a relay, with what the relay knows.
//
// A relay delivers whether or not its server could be started: an address that is taken, by another
// relay on the same machine most often, is a warning.
//
// Thread safety: one thread owns it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "daemon/relay_plan.hpp"
#include "postroom/admin.hpp"

namespace postroom::daemon {

class RelayAdmin {
public:
    // All of them must outlive this. Throws as AdminServer does for options that cannot be.
    RelayAdmin(const RelayPlan& plan, std::vector<AdminRoute> routes, StoreProvider& stores,
               StoreMetrics& metrics, Dispatcher& dispatcher,
               std::function<std::vector<UnopenedStore>()> unopened);

    void start();
    // Answers nobody any more; stop() also waits for requests that ask a database.
    void request_stop();
    void stop();

private:
    const LogPlan& log_;
    const std::string listen_;
    std::optional<AdminServer> server_;  // none: it is switched off
};

}  // namespace postroom::daemon
