// HttpServer: just enough of HTTP/1.1 for the demo and for the tests of what sends HTTP. A thread
// for each connection; bodies have a Content-Length. For a receiver of your own take a real HTTP
// library, as examples/webhook_receiver does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>

#include "base/mutex.hpp"

namespace postroom::cli::demo {

struct HttpRequest {
    std::string line{};                            // "POST /hook HTTP/1.1"
    std::map<std::string, std::string> headers{};  // names in lower case
    std::string body{};

    // The value of a header; empty when there is none.
    std::string header(const std::string& name) const;
};

struct HttpAnswer {
    int status = 204;
    std::string headers{};  // complete lines, each with its line end
    std::string body{};
    bool hang_up = false;  // close the connection without a word
};

// Port: a free port of 127.0.0.1 that is ours for as long as it lives, whether a server listens on
// it or not. Without one connections are refused.
class Port {
public:
    // Throws std::system_error.
    Port();
    ~Port();
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    std::uint16_t number() const { return number_; }

private:
    int socket_ = -1;  // bound, and never listening
    std::uint16_t number_ = 0;
};

class HttpServer {
public:
    using Handler = std::function<HttpAnswer(const HttpRequest&)>;

    // Listens on 127.0.0.1; port 0 is any. Throws std::system_error.
    explicit HttpServer(Handler handler, std::uint16_t port = 0);
    // Ends all connections, whatever is under way on them.
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    std::uint16_t port() const { return port_; }
    std::string url(const std::string& path = "/hook") const;
    // Connections accepted so far.
    int connections() const { return connections_; }

private:
    struct Connection {
        int descriptor = -1;
        std::thread thread{};
    };

    void accept_all();
    void serve(int descriptor);

    const Handler handler_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<int> connections_{0};
    base::Mutex mutex_;
    std::list<Connection> open_ POSTROOM_GUARDED_BY(mutex_);
    std::thread acceptor_;
};

}  // namespace postroom::cli::demo
