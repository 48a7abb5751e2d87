#include <stop_token>

#include "admin/http/context.hpp"
#include "admin/http/gate.hpp"
#include "admin/http/http_server.hpp"
#include "admin/http/views.hpp"
#include "postroom/admin.hpp"

namespace postroom {

class AdminServer::Parts {
public:
    Parts(StoreProvider& stores, StoreMetrics& metrics, AdminOptions options)
        : options_(checked(std::move(options))),
          watch_(stores, metrics, traffic_, options_),
          operations_(options_.limits.operations_max,
                      [this](const admin::Operation& operation) {
                          live_.publish("operation", admin::json_of(operation));
                      }),
          context_{.stores = stores,
                   .metrics = metrics,
                   .options = options_,
                   .clock = clock_,
                   .traffic = traffic_,
                   .watch = watch_,
                   .operations = operations_,
                   .live = live_,
                   .started_at = clock_.now(),
                   .stop = stopping_.get_token()},
          gate_(options_, clock_),
          router_(context_, gate_),
          server_(options_, router_, live_, [this] {
              live_.publish("overview", admin::overview_view(context_, admin::Series::left_out));
          }) {}

    void start() {
        server_.start();
        watch_.start();
    }

    void request_stop() {
        stopping_.request_stop();
        server_.request_stop();
        operations_.cancel_all();
        watch_.request_stop();
    }

    void stop() {
        request_stop();
        server_.stop();
        operations_.stop();
        watch_.stop();
    }

    std::uint16_t port() const { return server_.port(); }

private:
    static AdminOptions checked(AdminOptions options) {
        validate(options);
        return options;
    }

    const AdminOptions options_;
    const SystemClock clock_{};
    std::stop_source stopping_;
    admin::LiveEvents live_;
    admin::Traffic traffic_;
    admin::StoreWatch watch_;
    admin::Operations operations_;
    const admin::Context context_;
    admin::Gate gate_;  // the server's thread's
    const admin::Router router_;
    admin::HttpServer server_;
};

AdminServer::AdminServer(StoreProvider& stores, StoreMetrics& metrics, AdminOptions options)
    : parts_(std::make_unique<Parts>(stores, metrics, std::move(options))) {}

AdminServer::~AdminServer() { stop(); }

void AdminServer::start() { parts_->start(); }
void AdminServer::request_stop() { parts_->request_stop(); }
void AdminServer::stop() { parts_->stop(); }
std::uint16_t AdminServer::port() const { return parts_->port(); }

}  // namespace postroom
