// Ours: a store with its faces, opened the way the bench wants it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "postroom/dispatcher.hpp"
#include "postroom/inbox.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "suite/load.hpp"

namespace bench {

struct Ours {
    explicit Ours(const std::string& database, bool keep_history = false);

    // So many messages, in transactions of 1,000.
    void fill(std::size_t count) const;
    // Claims and acknowledges one batch; returns how many.
    std::size_t drain(std::uint32_t batch) const;

    std::string url;
    std::unique_ptr<postroom::Store> store;
    postroom::Outbox outbox;
    postroom::Inbox inbox;
};

postroom::NewMessage sample_message();

// A dispatcher whose handlers do nothing but count.
class Counting {
public:
    Counting(postroom::Store& store, const postroom::DispatcherOptions& options);

    void start() { dispatcher_.start(); }
    // Until so many were handled in all and nothing is left to settle. Throws when that takes
    // minutes.
    void wait(std::uint64_t messages) const;
    std::uint64_t handled() const { return handled_; }

private:
    std::atomic<std::uint64_t> handled_ = 0;
    postroom::Dispatcher dispatcher_;
};

// A backlog that a dispatcher finds when it starts.
Sample drain_by_dispatcher(Engine& engine, const Ours& ours,
                           const postroom::DispatcherOptions& options, std::size_t backlog);

}  // namespace bench
