// Context: what the handlers of the admin API work with.
#pragma once

#include <stop_token>
#include <string>

#include "admin/http/http_message.hpp"
#include "admin/http/live_events.hpp"
#include "admin/http/operations.hpp"
#include "admin/http/parameter_reader.hpp"
#include "admin/http/store_watch.hpp"
#include "admin/traffic.hpp"
#include "postroom/admin.hpp"

namespace postroom::admin {

struct Context {
    StoreProvider& stores;
    StoreMetrics& metrics;
    const AdminOptions& options;
    const Clock& clock;
    Traffic& traffic;
    StoreWatch& watch;
    Operations& operations;
    LiveEvents& live;
    Instant started_at;
    std::stop_token stop;  // the server is to end: what takes several statements ends after one

    // The store that `name` names, or the only one. Throws Problem.
    StorePtr store(const std::optional<std::string>& name) const;
    // Whether there is a store of that name, open or not.
    bool has_store(const std::string& name) const;
    // The store that `name` names, or all without a name.
    std::vector<StorePtr> chosen_stores(const std::optional<std::string>& name) const;

    // Records what was done in the store's audit log; a failure to do so is only logged.
    void audit(Store& store, const Caller& caller, const AuditEntry& entry) const;
    // Records, before it happens, what must not happen unrecorded: throws as the store does.
    void audit_first(Store& store, const Caller& caller, const AuditEntry& entry) const;

    // Where the routes send this topic; empty: nowhere that is known.
    std::string destination_of(const std::string& topic) const;
};

}  // namespace postroom::admin
