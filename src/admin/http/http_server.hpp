// HttpServer: sockets around a Router. HTTP/1.1 without TLS, on one thread, with two more for
// requests that ask a database and one for long texts, so that neither keeps others waiting.
//
// Everything a client can do is bounded: connections, the size of headers and body, the time for
// each, and for taking an answer. When all connections are in use the one that has been waiting for
// a request (or the rest of one) for longest is closed for a new one, so that idle and slow clients
// cannot keep others out.
//
// Thread safety: start(), request_stop() and stop() by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "admin/http/live_events.hpp"
#include "admin/http/router.hpp"

namespace postroom::admin {

class HttpServer {
public:
    // `tick` is called every two seconds while somebody listens to the stream. All of them must
    // outlive this.
    HttpServer(const AdminOptions& options, const Router& router, LiveEvents& live,
               std::function<void()> tick);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // Throws Error{unavailable}.
    void start();
    // Answers nobody any more. stop() also waits for requests that ask a database.
    void request_stop();
    void stop();
    std::uint16_t port() const;

private:
    class Network;
    const std::unique_ptr<Network> network_;
};

}  // namespace postroom::admin
