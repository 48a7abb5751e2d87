#include "admin/http/context.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "admin/http/admin_log.hpp"
#include "admin/pauses.hpp"
#include "base/json_writer.hpp"
#include "base/wildcards.hpp"

namespace postroom::admin {

namespace {

// For those who listen. Who did it to what is for those who may read /api/audit.
std::string live_entry(const Store& store, const AuditEntry& entry) {
    return base::JsonObject().add("store", store.id()).add("what", entry.what).text();
}

}  // namespace

StorePtr Context::store(const std::optional<std::string>& name) const {
    if (name) {
        StorePtr found = stores.find(*name);
        if (found != nullptr) return found;
        if (const std::optional<std::string> why = watch.unopened(*name))
            throw Problem::unavailable(*why);
        throw Problem::not_found(fmt::format("no store '{}'", *name));
    }
    const std::vector<StorePtr> all = stores.stores();
    if (all.size() == 1) return all.front();
    if (all.empty()) throw Problem::unavailable("no store is open");
    std::vector<std::string> names;
    for (const StorePtr& one : all) names.push_back(one->id());
    names.resize(std::min<std::size_t>(names.size(), 10));
    throw Problem::bad_parameter(
        "store", fmt::format("there are several; name one of {}", fmt::join(names, ", ")));
}

bool Context::has_store(const std::string& name) const {
    return stores.find(name) != nullptr || watch.unopened(name);
}

std::vector<StorePtr> Context::chosen_stores(const std::optional<std::string>& name) const {
    if (name) return {store(name)};
    return stores.stores();
}

void Context::audit_first(Store& store, const Caller& caller, const AuditEntry& entry) const {
    AuditEntry signed_entry = entry;
    signed_entry.who = caller.who();
    controls(store).record_audit(signed_entry);
    live.publish("change", live_entry(store, signed_entry));
}

void Context::audit(Store& store, const Caller& caller, const AuditEntry& entry) const {
    try {
        audit_first(store, caller, entry);
    } catch (const std::exception& error) {
        write_log(options, LogLevel::error,
                  log_line("ADMIN_AUDIT_FAILED")
                      .add("store", store.id())
                      .add("who", caller.who())
                      .add("what", entry.what)
                      .add("error", error.what()));
    }
}

std::string Context::destination_of(const std::string& topic) const {
    for (const AdminRoute& route : options.routes)
        if (base::matches_wildcards(route.pattern, topic)) return route.destination;
    return "";
}

}  // namespace postroom::admin
