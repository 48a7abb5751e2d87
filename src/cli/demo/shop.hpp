// Shop: places orders, each in one transaction with the message that tells the world.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "postroom/outbox.hpp"
#include "postroom/store.hpp"

namespace postroom::cli::demo {

enum class End { commit, rollback };

class Shop {
public:
    // Works on the SQLite file at `path`.
    explicit Shop(const std::string& path);

    // Orders come one after the other until close(); every tenth is rolled back.
    void open();
    void close();

    // An order that the receiver cannot take.
    void place_poison();

    std::size_t placed() const { return placed_; }
    std::size_t rolled_back() const { return rolled_back_; }
    std::set<int> orders() const;
    Counts outbox_counts() const { return outbox_.counts(); }

private:
    void place(int order_id, const std::string& payload, End end);

    const std::unique_ptr<Store> store_;
    const Outbox outbox_;
    int last_order_ = 0;
    std::atomic<std::size_t> placed_ = 0;
    std::atomic<std::size_t> rolled_back_ = 0;
    std::jthread orders_;
};

}  // namespace postroom::cli::demo
