// AdminServer: see and steer the queues over HTTP.
//
//   StoreMetrics metrics;
//   Dispatcher dispatcher(*store, {.observer = &metrics});
//   FixedStores stores(*store);
//   AdminServer admin(stores, metrics, {.dispatcher = &dispatcher});
//   admin.start();                                 // http://127.0.0.1:8025
//
// What it serves is described by docs/reference/openapi.yaml: lists, one message and its story,
// redrive, discard, pause, workers, destinations, an audit log, metrics for Prometheus and health
// for probes. `postroom relay` runs one.
//
// It is safe as it comes: it listens on this machine only, lets callers without a token look and
// change nothing, refuses any other address and every proxy without a token, shows payloads only to
// a role that may see them, and writes down every change.
// Connections, sizes, times and rates are bounded, so that whoever can reach it cannot keep it from
// answering others. It has no TLS: put a proxy in front of it where it is reached over a network.
//
// Thread safety: start(), request_stop() and stop() by one thread. Once stopped it stays so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/dispatcher.hpp"
#include "postroom/observer.hpp"
#include "postroom/operator.hpp"
#include "postroom/store_metrics.hpp"
#include "postroom/tenancy.hpp"

namespace postroom {

// What a caller may do. `operate` and `reveal` each include `view`, `admin` includes all.
enum class AdminRole : std::uint8_t {
    none,
    view,     // "viewer": everything but payloads
    operate,  // "operator": also redrive, discard, pause, probe
    reveal,   // "payload-viewer": also payloads
    admin,    // "admin": all of it, and sending edited messages
};
std::string_view to_string(AdminRole role);
std::optional<AdminRole> admin_role_from(std::string_view word);
bool may(AdminRole role, AdminRole wanted);

struct AdminToken {
    std::string name{};    // who it belongs to, for the audit log
    std::string sha256{};  // of the token, as 64 hexadecimal digits
    AdminRole role = AdminRole::view;
    std::optional<Instant> expires_at{};
};

struct AdminLimits {
    std::size_t connections_max = 512;  // beyond it the longest idle one is closed for a new one
    std::size_t streams_max = 32;       // of server-sent events
    std::size_t streams_per_caller_max = 24;  // of a token, or of an address without one
    std::uint32_t header_bytes_max = 16 * 1024;
    std::size_t headers_max = 100;
    std::uint64_t body_bytes_max = 2 * 1024 * 1024;
    Duration request_timeout = std::chrono::seconds{10};  // for headers, and again for the body
    Duration idle_timeout = std::chrono::seconds{60};
    Duration write_timeout = std::chrono::seconds{10};
    double requests_per_second = 50;  // of a token, or of an address without one
    double burst = 200;
    double failures_per_minute = 20;  // wrong tokens, of an address
    std::size_t operations_max = 4;   // bulk changes at the same time
};

// When /health is degraded, and when unhealthy. Zero: that is not looked at.
struct HealthThresholds {
    std::uint64_t backlog_degraded = 100'000;
    std::uint64_t backlog_unhealthy = 0;
    Duration oldest_age_degraded = std::chrono::minutes{5};
    Duration oldest_age_unhealthy = std::chrono::hours{1};
    double failure_ratio_degraded = 0.1;
    double failure_ratio_unhealthy = 0.5;
    Duration circuit_open_degraded = std::chrono::minutes{1};
    Duration circuit_open_unhealthy = std::chrono::minutes{15};
};

// Where messages go: topics that match the pattern to a sink.
struct AdminRoute {
    std::string pattern{};
    std::string sink{};
    std::string destination{};
};

// A store that should be there and could not be opened.
struct UnopenedStore {
    std::string store{};
    std::string error{};
};

// A file that is served to everybody, token or not: it must hold no secret.
struct StaticPage {
    std::string_view bytes{};
    std::string_view content_type{};
    std::string_view etag{};  // with its quotes
    bool gzip = false;        // `bytes` are compressed
    bool immutable = false;   // its path changes with its contents
};

// StaticPages: the dashboard's files.
class StaticPages {
public:
    StaticPages() = default;
    StaticPages(const StaticPages&) = delete;
    StaticPages& operator=(const StaticPages&) = delete;
    virtual ~StaticPages() = default;

    // `path` begins with "/"; "/" is the page itself. nullptr: there is no such file. What it
    // returns lives as long as this.
    virtual const StaticPage* find(std::string_view path) const = 0;
};

struct AdminOptions {
    std::string listen = "127.0.0.1:8025";  // host:port, [::1]:port; port 0: any that is free
    std::vector<AdminToken> tokens{};
    // Of callers without a token. Looked at only where there are no tokens: once there is one,
    // everybody needs one. Every program on this machine is such a caller.
    AdminRole anonymous = AdminRole::view;
    // Names by which the server is reached, besides those of this machine.
    std::vector<std::string> hosts{};
    AdminLimits limits{};
    HealthThresholds health{};
    Duration sample_interval = std::chrono::seconds{5};  // between two looks at a store
    Dispatcher* dispatcher = nullptr;                    // for "probe now"; must outlive the server
    std::vector<AdminRoute> routes{};                    // the first that matches counts
    std::function<SchemaReport(const std::string& store)> schema{};
    // Which stores the provider lacks, as it is now. They are told of as being down.
    std::function<std::vector<UnopenedStore>()> unopened{};
    std::shared_ptr<const StaticPages> pages{};
    std::string version{};
    std::function<void(LogLevel, std::string_view)> log = &log_to_stderr;
};

// Throws std::invalid_argument naming the option and what is wrong with it; among others, an
// address that is not on this machine without any token.
void validate(const AdminOptions& options);

class AdminServer {
public:
    // Throws as validate(). `stores` and `metrics` must outlive the server.
    AdminServer(StoreProvider& stores, StoreMetrics& metrics, AdminOptions options = {});
    ~AdminServer();
    AdminServer(const AdminServer&) = delete;
    AdminServer& operator=(const AdminServer&) = delete;

    // Throws Error{unavailable} when the address is taken or cannot be listened on.
    void start();
    // Ends connections, streams and running operations, each after the statement that it waits for.
    // Stopping again does nothing. request_stop() begins it and does not wait.
    void request_stop();
    void stop();

    // Where it listens, once it was started.
    std::uint16_t port() const;

private:
    class Parts;
    const std::unique_ptr<Parts> parts_;
};

}  // namespace postroom
