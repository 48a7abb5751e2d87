#include <fmt/format.h>

#include "admin/http/gate.hpp"
#include "admin/http/handlers.hpp"
#include "admin/http/system_health.hpp"
#include "base/json_writer.hpp"
#include "base/printable.hpp"

namespace postroom::admin {

namespace {

using base::JsonArray;
using base::JsonObject;
using Status = HealthCheck::Status;

constexpr unsigned service_unavailable = 503;

std::string line_of(const HealthCheck& check) {
    return fmt::format("[{}] {}{}{}: {}\n", check.status == Status::ok ? "+" : "-", check.check,
                       check.store.empty() ? "" : " ", base::printable(check.store),
                       base::printable(check.what));
}

}  // namespace

Response get_prometheus(const Context& context, const Request&) {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = context.metrics.prometheus()};
}

Response get_liveness(const Context&, const Request&) { return text_response("ok\n"); }

Response get_readiness(const Context& context, const Request& request) {
    const bool verbose = request.query.contains("verbose");
    if (verbose) require_role(request.caller, AdminRole::view);
    const std::vector<HealthCheck> checks = readiness_of(context);
    const Status status = worst_of(checks);
    std::string body;
    if (verbose)
        for (const HealthCheck& check : checks) body += line_of(check);
    body += status == Status::ok ? "ok\n" : "not ready\n";
    return text_response(std::move(body), status == Status::ok ? 200 : service_unavailable);
}

Response get_health(const Context& context, const Request& request) {
    const std::vector<HealthCheck> checks = health_of(context);
    const Status status = worst_of(checks);
    JsonObject out;
    out.add("status", to_string(status));
    if (may(request.caller.role, AdminRole::view)) {
        JsonArray list;
        for (const HealthCheck& check : checks)
            list.add_json(JsonObject()
                              .add("check", check.check)
                              .add_text("store", check.store)
                              .add("status", to_string(check.status))
                              .add("what", check.what)
                              .text());
        out.add_json("checks", list.text());
    }
    return json_response(out.text(), status == Status::unhealthy ? service_unavailable : 200);
}

}  // namespace postroom::admin
