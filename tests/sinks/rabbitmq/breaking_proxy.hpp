// BreakingProxy: stands between clients and a server, and hangs up on a client that sends a certain
// word; what it had sent before in one go does not arrive either. Or it falls silent instead: what
// stands before the word arrives, and nothing that follows on the same connection.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace postroom::test {

class BreakingProxy {
public:
    enum class Manner { hang_up, fall_silent };

    // Listens on 127.0.0.1 and leads every connection to `server_port`.
    BreakingProxy(int server_port, std::string word, Manner manner = Manner::hang_up);
    ~BreakingProxy();
    BreakingProxy(const BreakingProxy&) = delete;
    BreakingProxy& operator=(const BreakingProxy&) = delete;

    int port() const { return port_; }
    // How many connections it has ended, or left in silence.
    int broken() const { return broken_; }

private:
    struct Pair {
        int client = -1;
        int server = -1;
        std::thread upwards{};
        std::thread downwards{};
    };

    void accept_all(int server_port);
    void pass_upwards(const Pair& pair);

    const std::string word_;
    const Manner manner_;
    int listener_ = -1;
    int port_ = 0;
    std::atomic<int> broken_{0};
    std::mutex mutex_;
    std::list<Pair> pairs_;  // guarded by mutex_
    std::thread acceptor_;
};

}  // namespace postroom::test
