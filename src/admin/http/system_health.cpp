#include "admin/http/system_health.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "admin/health.hpp"
#include "admin/http/views.hpp"
#include "base/duration_text.hpp"

namespace postroom::admin {

namespace {

using base::format_duration;
using Status = HealthCheck::Status;

// A limit of zero is none.
template <class Value>
Status judge(Value value, Value degraded, Value unhealthy) {
    if (unhealthy > Value{} && value >= unhealthy) return Status::unhealthy;
    if (degraded > Value{} && value >= degraded) return Status::degraded;
    return Status::ok;
}

void check_schema(std::vector<HealthCheck>& out, const std::string& store,
                  const SchemaReport& schema) {
    const std::vector<Finding> findings = admin::check_schema(schema);
    const auto bad = std::ranges::find(findings, Finding::Health::bad, &Finding::health);
    out.push_back(
        {.check = "schema",
         .store = store,
         .status = bad == findings.end() ? Status::ok : Status::unhealthy,
         .what = bad == findings.end() ? fmt::format("version {}", schema.version) : bad->what});
}

void check_restore(std::vector<HealthCheck>& out, const std::map<std::string, StoreView>& views) {
    for (const auto& [store, view] : views)
        if (view.hold)
            out.push_back({.check = "restore",
                           .store = store,
                           .status = Status::unhealthy,
                           .what = "delivery is held: " + view.hold->why});
}

void check_queue(std::vector<HealthCheck>& out, const HealthThresholds& limits,
                 const StoreFigures& store, Queue queue, const QueueTraffic& traffic) {
    const StoreSample& sample = *store.sample;
    const std::uint64_t backlog = backlog_of(sample.counts(queue));
    const Duration oldest = sample.oldest(queue).value_or(Duration{});
    const std::string name(to_string(queue));
    out.push_back({.check = "backlog",
                   .store = store.store,
                   .status = judge(backlog, limits.backlog_degraded, limits.backlog_unhealthy),
                   .what = fmt::format("{}: {} waiting", name, backlog)});
    out.push_back({.check = "oldest_age",
                   .store = store.store,
                   .status = judge(oldest, limits.oldest_age_degraded, limits.oldest_age_unhealthy),
                   .what = sample.oldest(queue) ? fmt::format("{}: the oldest has waited for {}",
                                                              name, format_duration(oldest))
                                                : fmt::format("{}: none waits", name)});
    out.push_back({.check = "failure_ratio",
                   .store = store.store,
                   .status = judge(traffic.failure_ratio, limits.failure_ratio_degraded,
                                   limits.failure_ratio_unhealthy),
                   .what = fmt::format("{}: {:.1f} % of the deliveries failed", name,
                                       traffic.failure_ratio * 100)});
}

void check_circuits(std::vector<HealthCheck>& out, const Context& context,
                    const std::map<std::string, StoreView>& views) {
    const HealthThresholds& limits = context.options.health;
    for (const DestinationReport& one : destinations_of(context, views)) {
        const DestinationReport::Circuit* const worst = one.worst();
        if (worst == nullptr) continue;
        const Duration open = views.at(worst->store).now - worst->report.since;
        out.push_back(
            {.check = "circuit",
             .store = worst->store,
             .status = judge(open, limits.circuit_open_degraded, limits.circuit_open_unhealthy),
             .what =
                 fmt::format("{} has been down for {}", one.destination, format_duration(open))});
    }
}

}  // namespace

std::string_view to_string(Status status) {
    return status == Status::ok ? "ok" : status == Status::degraded ? "degraded" : "unhealthy";
}

std::vector<HealthCheck> readiness_of(const Context& context) {
    const std::map<std::string, StoreView> views = context.watch.views();
    std::vector<HealthCheck> out;
    for (const StoreFigures& store : context.metrics.stores()) {
        if (!store.sample || !context.has_store(store.store)) continue;
        const StoreSample& sample = *store.sample;
        out.push_back({.check = "store",
                       .store = store.store,
                       .status = sample.up ? Status::ok : Status::unhealthy,
                       .what = sample.up ? "answers" : sample.error});
        const auto view = views.find(store.store);
        if (view != views.end() && view->second.schema)
            check_schema(out, store.store, *view->second.schema);
    }
    if (out.empty())
        out.push_back(
            {.check = "store", .status = Status::unhealthy, .what = "no store was reached yet"});
    return out;
}

std::vector<HealthCheck> health_of(const Context& context) {
    std::vector<HealthCheck> out = readiness_of(context);
    const auto traffic = context.traffic.queues();
    for (const StoreFigures& store : context.metrics.stores()) {
        if (!store.sample || !store.sample->up) continue;
        for (const Queue queue : {Queue::outbox, Queue::inbox}) {
            const auto at = traffic.find({store.store, queue});
            check_queue(out, context.options.health, store, queue,
                        at == traffic.end() ? QueueTraffic{} : at->second);
        }
    }
    const std::map<std::string, StoreView> views = context.watch.views();
    check_restore(out, views);
    check_circuits(out, context, views);
    return out;
}

Status worst_of(const std::vector<HealthCheck>& checks) {
    Status worst = Status::ok;
    for (const HealthCheck& check : checks) worst = std::max(worst, check.status);
    return worst;
}

}  // namespace postroom::admin
