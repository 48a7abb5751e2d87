#include "suite/ours.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

namespace bench {

using namespace postroom;

NewMessage sample_message() { return {.topic = "order.placed", .payload = sample_payload()}; }

Ours::Ours(const std::string& database, bool keep_history)
    : url(database),
      store(open_store(database, {.deploy_schema = true,
                                  .keep_history = keep_history,
                                  .pool_max = 80,
                                  .pool_wait = std::chrono::minutes{2}})),
      outbox(*store),
      inbox(*store) {}

void Ours::fill(std::size_t count) const {
    const std::vector<NewMessage> messages(1000, sample_message());
    for (std::size_t done = 0; done < count; done += messages.size()) {
        outbox.enqueue_all(std::span(messages).first(std::min(messages.size(), count - done)));
    }
}

std::size_t Ours::drain(std::uint32_t batch) const {
    const std::vector<Message> messages =
        outbox.claim(outbox.owner(), std::chrono::minutes{5}, batch);
    outbox.ack(messages);
    return messages.size();
}

Counting::Counting(Store& store, const DispatcherOptions& options) : dispatcher_(store, options) {
    dispatcher_.on("order.placed", [this](const Message&) { ++handled_; });
}

void Counting::wait(std::uint64_t messages) const {
    constexpr double limit_seconds = 300;
    const Stopwatch watch;
    while (handled_ < messages || dispatcher_.status().in_flight > 0) {
        if (watch.seconds() > limit_seconds)
            throw std::runtime_error("messages stay undelivered: " + std::to_string(handled_) +
                                     " of " + std::to_string(messages));
        std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
}

Sample drain_by_dispatcher(Engine& engine, const Ours& ours, const DispatcherOptions& options,
                           std::size_t backlog) {
    Counting counting(*ours.store, options);
    Meter meter(engine);
    counting.start();
    counting.wait(backlog);
    return meter.finish(static_cast<double>(backlog));
}

}  // namespace bench
