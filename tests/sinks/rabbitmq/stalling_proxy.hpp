// StallingProxy: stands between a client and an AMQP server and, behind a certain method of the
// server's, passes nothing more on to the client.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace postroom::test {

class StallingProxy {
public:
    // Class and method.
    static constexpr std::uint32_t none = 0;
    static constexpr std::uint32_t connection_start = (10U << 16U) | 10U;
    static constexpr std::uint32_t channel_close = (20U << 16U) | 40U;
    static constexpr std::uint32_t basic_return = (60U << 16U) | 50U;

    // Listens on 127.0.0.1 for one connection, which it leads to `server_port`. Each frame of the
    // server's comes `late`. A second connection is not answered.
    StallingProxy(int server_port, std::uint32_t last_method,
                  std::chrono::milliseconds late = std::chrono::milliseconds{0});
    ~StallingProxy();
    StallingProxy(const StallingProxy&) = delete;
    StallingProxy& operator=(const StallingProxy&) = delete;

    int port() const { return port_; }
    // The method came by.
    bool stalled() const { return stalled_; }

private:
    void serve(int server_port, std::uint32_t last_method);
    void pass_frames(int server, int client, std::uint32_t last_method);

    const std::chrono::milliseconds late_;
    int listener_ = -1;
    int port_ = 0;
    std::atomic<bool> stalled_{false};
    std::atomic<int> client_{-1};
    std::atomic<int> server_{-1};
    std::thread thread_;
};

}  // namespace postroom::test
