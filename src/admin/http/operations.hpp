// Operations: changes to many messages that go on in the background.
//
// Thread safety: all of it may be called concurrently.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "admin/bulk.hpp"
#include "base/mutex.hpp"
#include "postroom/tenancy.hpp"

namespace postroom::admin {

struct Operation {
    enum class Status : std::uint8_t { running, finished, cancelled, failed };
    std::string id{};
    Change change = Change::redrive;
    std::string store{};
    Queue queue = Queue::outbox;
    Status status = Status::running;
    std::uint64_t matched = 0;
    std::uint64_t changed = 0;
    std::string what{};
    std::string by{};
    Instant started_at{};
    std::optional<Instant> finished_at{};
    std::string error{};
};

std::string_view to_string(Operation::Status status);
std::string json_of(const Operation& operation);

class Operations {
public:
    static constexpr std::size_t kept_max = 100;  // of those that have ended, the newest

    // `told` hears of every step, from the thread that makes it.
    Operations(std::size_t running_max, std::function<void(const Operation&)> told)
        : running_max_(running_max), told_(std::move(told)) {}
    ~Operations() { stop(); }
    Operations(const Operations&) = delete;
    Operations& operator=(const Operations&) = delete;

    // Does the work. Calls `progress` with how many were changed so far, and ends early on a stop.
    using Work = std::function<BulkResult(const std::function<void(std::uint64_t)>& progress,
                                          std::stop_token stop)>;
    // Runs `work`; `begun` says what it is, without id and times. nullopt: as many run as may.
    std::optional<Operation> start(Operation begun, Work work);

    std::vector<Operation> list() const;  // the newest first
    std::optional<Operation> find(const std::string& id) const;
    // The operation as it is; nullopt: there is none.
    std::optional<Operation> cancel(const std::string& id);
    void cancel_all();
    // Cancels all and waits for them.
    void stop();

private:
    struct Entry {
        Operation operation{};
        std::jthread thread{};
    };
    void run(Entry& entry, const Work& work, const std::stop_token& stop);
    template <class F>
    void change(Entry& entry, F change);
    void drop_old() POSTROOM_REQUIRES(mutex_);

    const std::size_t running_max_;
    const std::function<void(const Operation&)> told_;
    mutable base::Mutex mutex_;
    std::list<Entry> entries_ POSTROOM_GUARDED_BY(mutex_);  // the newest first
};

}  // namespace postroom::admin
