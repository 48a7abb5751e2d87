// AnsweringServer: an HTTP server on 127.0.0.1 that says 200 to every request and keeps nothing.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <thread>

namespace bench {

class AnsweringServer {
public:
    AnsweringServer();
    ~AnsweringServer();
    AnsweringServer(const AnsweringServer&) = delete;
    AnsweringServer& operator=(const AnsweringServer&) = delete;

    int port() const { return port_; }
    std::size_t answered() const { return answered_; }

private:
    void accept_all();
    void serve(int connection);

    int listener_ = -1;
    int port_ = 0;
    std::atomic<std::size_t> answered_ = 0;
    std::mutex mutex_;
    std::list<int> connections_;  // open ones, under mutex_
    std::list<std::thread> threads_;
    std::thread acceptor_;
};

}  // namespace bench
