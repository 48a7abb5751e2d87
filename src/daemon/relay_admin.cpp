#include "daemon/relay_admin.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/dashboard.hpp"
#include "daemon/log_lines.hpp"
#include "observe/log_line.hpp"
#include "postroom/error.hpp"
#include "postroom/open_store.hpp"

namespace postroom::daemon {

namespace {

AdminOptions options_of(const RelayPlan& plan, std::vector<AdminRoute> routes,
                        Dispatcher& dispatcher) {
    AdminOptions options = plan.admin;
    options.dispatcher = &dispatcher;
    options.routes = std::move(routes);
    options.pages = dashboard_pages();
    options.log = [log = plan.log](LogLevel level, std::string_view text) {
        write_log(log, level, text);
    };
    options.schema = [stores = plan.stores](const std::string& id) {
        const auto at = std::ranges::find(stores, id, &StorePlan::name);
        return at == stores.end() ? SchemaReport{} : open_schema(at->url, at->options)->report();
    };
    return options;
}

}  // namespace

RelayAdmin::RelayAdmin(const RelayPlan& plan, std::vector<AdminRoute> routes, StoreProvider& stores,
                       StoreMetrics& metrics, Dispatcher& dispatcher,
                       std::function<std::vector<UnopenedStore>()> unopened)
    : log_(plan.log), listen_(plan.admin.listen) {
    if (listen_.empty()) return;
    AdminOptions options = options_of(plan, std::move(routes), dispatcher);
    options.unopened = std::move(unopened);
    server_.emplace(stores, metrics, std::move(options));
}

void RelayAdmin::start() {
    if (!server_) return;
    try {
        server_->start();
        const std::string host = listen_.substr(0, listen_.rfind(':'));
        write_log(log_, LogLevel::info,
                  LogLine("ADMIN_READY", value_chars_max)
                      .add("url", fmt::format("http://{}:{}", host, server_->port()))
                      .text());
    } catch (const Error& error) {
        write_log(log_, LogLevel::warning,
                  LogLine("ADMIN_OFF", value_chars_max).add("error", error.what()).text());
    }
}

void RelayAdmin::request_stop() {
    if (server_) server_->request_stop();
}

void RelayAdmin::stop() {
    if (server_) server_->stop();
}

}  // namespace postroom::daemon
