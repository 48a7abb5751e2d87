// DispatchQueues: what waits for a worker: the hot queue (handed over by writers of this process)
// and the cold queue (claimed), both bounded. Draining is fair: two hot ones, then a cold one, so
// that neither a busy writer nor a long backlog starves the other. A message that cannot be handled
// yet is parked, lets others pass, and keeps its place in the bounds. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "base/assert.hpp"
#include "postroom/message.hpp"
#include "queue/message_fields.hpp"

namespace postroom {

enum class Path : std::uint8_t { hot, cold };

struct QueuedMessage {
    Message message{};
    Path path = Path::cold;
};

class DispatchQueues {
public:
    DispatchQueues(std::size_t hot_capacity, std::size_t cold_capacity)
        : hot_capacity_(hot_capacity), cold_capacity_(cold_capacity) {}

    // Room in the hot queue is taken before a message is written and used, or given back, after.
    bool reserve_hot(std::size_t count) {
        if (hot_size() + reserved_ + count > hot_capacity_) return false;
        reserved_ += count;
        return true;
    }
    void give_back_hot(std::size_t count) {
        POSTROOM_ASSERT(count <= reserved_);
        reserved_ -= count;
    }
    // Uses up one place that was reserved.
    void push_hot(Message&& message) {
        give_back_hot(1);
        hot_.push_back(std::move(message));
    }

    std::size_t cold_room() const { return cold_capacity_ - cold_size(); }
    // Payloads and headers of what is in the cold queue.
    std::size_t cold_bytes() const { return cold_bytes_; }
    void push_cold(Message&& message) {
        cold_bytes_ += content_bytes(message);
        cold_.push_back(std::move(message));
    }

    void park(QueuedMessage queued) {
        if (queued.path == Path::hot)
            ++parked_hot_;
        else
            cold_bytes_ += content_bytes(queued.message);
        parked_.push_back(std::move(queued));
    }
    std::optional<QueuedMessage> pop_parked() {
        if (parked_.empty()) return std::nullopt;
        QueuedMessage out = std::move(parked_.front());
        parked_.pop_front();
        if (out.path == Path::hot)
            --parked_hot_;
        else
            cold_bytes_ -= content_bytes(out.message);
        return out;
    }

    // With those that are parked.
    std::size_t hot_size() const { return hot_.size() + parked_hot_; }
    std::size_t cold_size() const { return cold_.size() + parked_.size() - parked_hot_; }
    // Waiting for nothing but a worker.
    std::size_t hot_ready() const { return hot_.size(); }
    std::size_t cold_ready() const { return cold_.size(); }
    std::size_t parked_size() const { return parked_.size(); }

    // The next in turn; with `cold_only` the hot queue is left alone.
    std::optional<QueuedMessage> pop(bool cold_only = false) {
        if (hot_.empty() || cold_only) return take(cold_, Path::cold);
        if (cold_.empty()) return take(hot_, Path::hot);
        const bool cold_turn = turn_ % 3 == 2;
        ++turn_;
        return cold_turn ? take(cold_, Path::cold) : take(hot_, Path::hot);
    }

    // The front of the queue that `path` names; nullptr when it is empty.
    const Message* front(Path path) const {
        const std::deque<Message>& queue = path == Path::hot ? hot_ : cold_;
        return queue.empty() ? nullptr : &queue.front();
    }
    std::optional<QueuedMessage> pop_from(Path path) {
        return take(path == Path::hot ? hot_ : cold_, path);
    }

    // Everything that waits, for giving it back.
    std::vector<Message> drain() {
        std::vector<Message> out;
        while (std::optional<QueuedMessage> queued = pop_parked())
            out.push_back(std::move(queued->message));
        while (std::optional<QueuedMessage> queued = pop())
            out.push_back(std::move(queued->message));
        return out;
    }

private:
    std::optional<QueuedMessage> take(std::deque<Message>& queue, Path path) {
        if (queue.empty()) return std::nullopt;
        std::optional<QueuedMessage> out(std::in_place);
        out->message = std::move(queue.front());
        out->path = path;
        queue.pop_front();
        if (path == Path::cold) cold_bytes_ -= content_bytes(out->message);
        return out;
    }

    const std::size_t hot_capacity_;
    const std::size_t cold_capacity_;
    std::deque<Message> hot_;
    std::deque<Message> cold_;
    std::deque<QueuedMessage> parked_;
    std::size_t parked_hot_ = 0;
    std::size_t cold_bytes_ = 0;
    std::size_t reserved_ = 0;
    unsigned turn_ = 0;
};

}  // namespace postroom
