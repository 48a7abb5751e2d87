// HttpServer: just enough of HTTP/1.1 for the demo. A thread for each connection; bodies have a
// Content-Length, as those of the relay do. For a receiver of your own take a real HTTP library, as
// examples/webhook_receiver does.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.hpp"

namespace postroom::cli::demo {

struct Request {
    std::map<std::string, std::string> headers{};  // names in lower case
    std::string body{};
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

    int number() const { return number_; }

private:
    int socket_ = -1;  // bound, and never listening
    int number_ = 0;
};

class HttpServer {
public:
    // Returns the status to answer with; none: the connection is closed without an answer.
    using Handler = std::function<std::optional<int>(const Request&)>;

    // Throws std::system_error.
    HttpServer(const Port& port, Handler handler);
    // Ends all connections, whatever is under way on them.
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

private:
    struct Connection {
        int descriptor = -1;
        std::thread thread{};
    };

    void accept_all();
    void serve(int descriptor);

    const Handler handler_;
    int listener_ = -1;
    base::Mutex mutex_;
    std::list<Connection> connections_ POSTROOM_GUARDED_BY(mutex_);
    std::thread acceptor_;
};

}  // namespace postroom::cli::demo
