// HttpServer: the other side of the HTTP sink, as simple as HTTP/1.1 allows: a thread for each
// connection, bodies with a Content-Length, nothing else.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace postroom::test {

struct HttpRequest {
    std::string line{};                            // "POST /hook HTTP/1.1"
    std::map<std::string, std::string> headers{};  // names in lower case
    std::string body{};

    std::string header(const std::string& name) const {
        const auto found = headers.find(name);
        return found == headers.end() ? std::string() : found->second;
    }
};

struct HttpAnswer {
    int status = 204;
    std::string headers{};  // complete lines, each with its line end
    std::string body{};
    bool hang_up = false;  // close the connection without a word
};

class HttpServer {
public:
    using Handler = std::function<HttpAnswer(const HttpRequest&)>;

    // Listens on 127.0.0.1; port 0 is any. Throws std::system_error.
    explicit HttpServer(Handler handler, std::uint16_t port = 0);
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
    std::mutex mutex_;
    std::list<Connection> open_;  // guarded by mutex_
    std::thread acceptor_;
};

}  // namespace postroom::test
