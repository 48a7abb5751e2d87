// Receiver: the other side. It takes orders over HTTP and writes a shipment for each, once, however
// often the order comes.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "postroom/inbox.hpp"
#include "postroom/store.hpp"

#include "cli/demo/http_server.hpp"

namespace postroom::cli::demo {

class Receiver {
public:
    // Works on the SQLite file at `path`; does not listen yet.
    explicit Receiver(const std::string& path);

    void go_up();
    void go_down();
    // From now on it takes what comes, and its answers get lost.
    void lose_answers() { loses_answers_ = true; }
    // From now on it takes the poison message too.
    void repair() { is_repaired_ = true; }

    int port() const { return port_.number(); }
    std::size_t taken() const { return taken_; }
    std::size_t duplicates() const { return duplicates_; }
    // The orders that were shipped, and how many shipments were written for them.
    std::set<int> shipped_orders() const;
    std::size_t shipments() const;

private:
    std::optional<int> take(const HttpRequest& request);

    const std::unique_ptr<Store> store_;
    const Inbox inbox_;
    std::atomic<bool> loses_answers_ = false;
    std::atomic<bool> is_repaired_ = false;
    std::atomic<std::size_t> taken_ = 0;
    std::atomic<std::size_t> duplicates_ = 0;
    const Port port_;
    std::unique_ptr<HttpServer> server_;
};

}  // namespace postroom::cli::demo
