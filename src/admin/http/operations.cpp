#include "admin/http/operations.hpp"

#include <algorithm>

#include "base/json_writer.hpp"
#include "postroom/clock.hpp"
#include "postroom/ids.hpp"

namespace postroom::admin {

std::string_view to_string(Operation::Status status) {
    switch (status) {
        case Operation::Status::running:
            return "running";
        case Operation::Status::finished:
            return "finished";
        case Operation::Status::cancelled:
            return "cancelled";
        case Operation::Status::failed:
            return "failed";
    }
    return "failed";
}

std::string json_of(const Operation& operation) {
    return base::JsonObject()
        .add("id", operation.id)
        .add("action", verb_of(operation.change))
        .add("store", operation.store)
        .add("queue", postroom::to_string(operation.queue))
        .add("status", to_string(operation.status))
        .add("matched", operation.matched)
        .add("changed", operation.changed)
        .add_text("what", operation.what)
        .add("by", operation.by)
        .add("started_at", operation.started_at)
        .add("finished_at", operation.finished_at)
        .add_text("error", operation.error)
        .text();
}

std::optional<Operation> Operations::start(Operation begun, Work work) {
    begun.id = OwnerToken::generate().to_string();
    begun.started_at = SystemClock().now();
    const base::MutexLock lock(mutex_);
    const auto running = std::ranges::count(entries_, Operation::Status::running,
                                            [](const Entry& e) { return e.operation.status; });
    if (static_cast<std::size_t>(running) >= running_max_) return std::nullopt;
    drop_old();
    Entry& entry = entries_.emplace_front();
    entry.operation = begun;
    try {
        entry.thread = std::jthread([this, &entry, work = std::move(work)](
                                        const std::stop_token& stop) { run(entry, work, stop); });
    } catch (...) {
        entries_.pop_front();
        throw;
    }
    return begun;
}

// Entries of a list stay where they are, and one that runs is not dropped.
void Operations::run(Entry& entry, const Work& work, const std::stop_token& stop) {
    using Status = Operation::Status;
    const auto end = [&](Status status, std::string error = "") {
        change(entry, [&](Operation& o) {
            o.status = status;
            o.error = std::move(error);
            o.finished_at = SystemClock().now();
        });
    };
    try {
        change(entry, [](Operation&) {});
        const auto progress = [&](std::uint64_t changed) {
            change(entry, [changed](Operation& o) { o.changed = changed; });
        };
        const BulkResult result = work(progress, stop);
        progress(result.changed);
        end(result.stopped ? Status::cancelled : Status::finished);
    } catch (const std::exception& error) {
        end(Status::failed, error.what());
    } catch (...) {
        end(Status::failed, "an error without a text");
    }
}

template <class F>
void Operations::change(Entry& entry, F change) {
    Operation now;
    {
        const base::MutexLock lock(mutex_);
        change(entry.operation);
        now = entry.operation;
    }
    try {
        told_(now);
    } catch (const std::exception&) {
        // Whoever listens misses a step; the list has it.
        return;
    }
}

// One that has run for long does not keep those that began after it.
void Operations::drop_old() {
    for (auto at = entries_.end(); at != entries_.begin() && entries_.size() >= kept_max;) {
        --at;
        if (at->operation.status != Operation::Status::running)
            at = entries_.erase(at);  // its thread has nothing left to do but end
    }
}

std::vector<Operation> Operations::list() const {
    const base::MutexLock lock(mutex_);
    std::vector<Operation> out;
    for (const Entry& entry : entries_) out.push_back(entry.operation);
    return out;
}

std::optional<Operation> Operations::find(const std::string& id) const {
    const base::MutexLock lock(mutex_);
    for (const Entry& entry : entries_)
        if (entry.operation.id == id) return entry.operation;
    return std::nullopt;
}

std::optional<Operation> Operations::cancel(const std::string& id) {
    const base::MutexLock lock(mutex_);
    for (Entry& entry : entries_) {
        if (entry.operation.id != id) continue;
        entry.thread.request_stop();
        return entry.operation;
    }
    return std::nullopt;
}

void Operations::cancel_all() {
    const base::MutexLock lock(mutex_);
    for (Entry& entry : entries_) entry.thread.request_stop();
}

void Operations::stop() {
    cancel_all();
    // Joined without the lock, which they need for their last step. Nobody adds one any more: the
    // server that calls start() has stopped.
    while (true) {
        std::jthread thread;
        {
            const base::MutexLock lock(mutex_);
            const auto at =
                std::ranges::find_if(entries_, [](const Entry& e) { return e.thread.joinable(); });
            if (at == entries_.end()) return;
            thread = std::move(at->thread);
        }
        thread.join();
    }
}

}  // namespace postroom::admin
