#include <fmt/format.h>

#include "admin/health.hpp"
#include "admin/http/handlers.hpp"
#include "admin/http/views.hpp"
#include "admin/json_view.hpp"
#include "admin/pauses.hpp"
#include "base/json_writer.hpp"

namespace postroom::admin {

namespace {

using base::JsonArray;
using base::JsonObject;

constexpr std::uint64_t audit_page_max = 500;
constexpr std::uint32_t audit_page_usual = 50;

std::string store_queue_view(const StoreSample& sample, Queue queue) {
    JsonObject out;
    if (!sample.up) return out.text();
    out.add_json("backlog", backlog_view(sample.counts(queue)));
    if (const std::optional<Duration>& oldest = sample.oldest(queue))
        out.add("oldest_age_seconds", seconds(*oldest));
    return out.text();
}

// `view`: none as long as the store was not reached.
std::string store_view(const std::string& id, const StoreSample& sample, const StoreView* view) {
    JsonObject out;
    out.add("store", id).add("up", sample.up).add_text("error", sample.error);
    if (view != nullptr && view->schema)
        out.add("schema_version", view->schema->version)
            .add("schema_up_to_date", view->schema->up_to_date());
    if (view != nullptr && view->hold) out.add_json("hold", json_of(*view->hold));
    if (sample.up) out.add("clock_offset_seconds", seconds(sample.clock_offset));
    return out.add_json("outbox", store_queue_view(sample, Queue::outbox))
        .add_json("inbox", store_queue_view(sample, Queue::inbox))
        .text();
}

std::string audit_view(const std::string& store, const AuditEntry& entry) {
    return JsonObject()
        .add("id", fmt::format("{}", entry.id))
        .add("store", store)
        .add("at", entry.at)
        .add("who", entry.who)
        .add("what", entry.what)
        .add_text("target", entry.target)
        .add("count", entry.count)
        .add_text("outcome", entry.outcome)
        .text();
}

}  // namespace

Response get_session(const Context& context, const Request& request) {
    const Caller& caller = request.caller;
    const auto allows = [&](AdminRole wanted) { return may(caller.role, wanted); };
    return json_response(JsonObject()
                             .add("role", to_string(caller.role))
                             .add("name", caller.name)
                             .add("anonymous", caller.anonymous)
                             .add("version", context.options.version)
                             .add_json("may", JsonObject()
                                                  .add("view", allows(AdminRole::view))
                                                  .add("operate", allows(AdminRole::operate))
                                                  .add("reveal", allows(AdminRole::reveal))
                                                  .add("resend", allows(AdminRole::admin))
                                                  .text())
                             .text());
}

Response get_openapi(const Context&, const Request&) {
    return {.content_type = "application/yaml", .body = std::string(openapi_document())};
}

Response get_overview(const Context& context, const Request&) {
    return json_response(overview_view(context, Series::told));
}

Response list_workers(const Context& context, const Request& request) {
    ParameterReader read(request.query);
    const std::vector<StorePtr> stores = context.chosen_stores(read.text("store"));
    read.end();
    JsonArray out;
    for (const StorePtr& store : stores)
        if (StoreControls* const desk = controls_of(*store))
            for (const WorkerReport& worker : desk->workers())
                out.add_json(worker_view(context, store->id(), worker));
    return json_response(JsonObject().add_json("workers", out.text()).text());
}

Response list_stores(const Context& context, const Request&) {
    const std::map<std::string, StoreView> views = context.watch.views();
    JsonArray out;
    for (const StoreFigures& store : context.metrics.stores()) {
        if (!context.has_store(store.store)) continue;
        const auto view = views.find(store.store);
        out.add_json(store_view(store.store, store.sample.value_or(StoreSample{}),
                                view == views.end() ? nullptr : &view->second));
    }
    return json_response(JsonObject().add_json("stores", out.text()).text());
}

Response examine_store(const Context& context, const Request& request) {
    ParameterReader read(request.query);
    const StorePtr store = context.store(read.text("store"));
    read.end();
    std::vector<Finding> findings;
    if (context.options.schema) findings = check_schema(context.options.schema(store->id()));
    for (Finding& finding : check_store(*store, context.clock))
        findings.push_back(std::move(finding));
    JsonArray out;
    for (const Finding& finding : findings)
        out.add_json(JsonObject()
                         .add("check", finding.check)
                         .add("health", health_word(finding.health))
                         .add("what", finding.what)
                         .text());
    return json_response(
        JsonObject().add("store", store->id()).add_json("findings", out.text()).text());
}

Response list_audit(const Context& context, const Request& request) {
    ParameterReader read(request.query);
    const StorePtr store = context.store(read.text("store"));
    const std::uint64_t before = read.number("cursor", 0, INT64_MAX).value_or(0);
    const auto limit = static_cast<std::uint32_t>(
        read.number("limit", 1, audit_page_max).value_or(audit_page_usual));
    read.end();
    const std::vector<AuditEntry> entries = controls(*store).audit_log(before, limit);
    JsonArray list;
    for (const AuditEntry& entry : entries) list.add_json(audit_view(store->id(), entry));
    JsonObject out;
    out.add_json("entries", list.text());
    if (entries.size() == limit) out.add("next_cursor", fmt::format("{}", entries.back().id));
    return json_response(out.text());
}

}  // namespace postroom::admin
