#include "cli/bench/measures.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <semaphore>
#include <thread>

#include "cli/failure.hpp"
#include "postroom/dispatcher.hpp"
#include "postroom/outbox.hpp"

namespace postroom::cli {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr std::uint32_t batch = 100;
constexpr std::chrono::milliseconds pause{2};  // between messages whose way is timed
constexpr std::chrono::seconds patience{30};   // for one message to arrive
constexpr const char* topic = "postroom.bench";

NewMessage message_of(const Load& load) {
    return {.topic = TopicName(topic),
            .payload = std::string(load.payload_bytes, 'x'),
            .content_type = "text/plain"};
}

// Repeats `step`, which tells how many messages it was, until time is up or there were none.
void repeat(Measure& measure, const Load& load, const std::function<std::size_t()>& step) {
    const Clock::time_point begun = Clock::now();
    Clock::time_point before = begun;
    while (before - begun < load.each) {
        load.interrupt->check();
        const std::size_t count = step();
        const Clock::time_point after = Clock::now();
        if (count == 0) break;
        measure.messages += count;
        measure.times.push_back(std::chrono::duration_cast<microseconds>(after - before));
        before = after;
    }
    measure.seconds = std::chrono::duration<double>(before - begun).count();
    std::ranges::sort(measure.times);
}

}  // namespace

microseconds percentile(const Measure& measure, double part) {
    if (measure.times.empty()) return {};
    const auto last = static_cast<double>(measure.times.size() - 1);
    return measure.times[static_cast<std::size_t>(std::lround(last * part))];
}

Measure measure_enqueue(Store& store, const Load& load) {
    Measure measure{.name = "enqueue", .what = "one message in a transaction, and its commit"};
    const Outbox outbox(store);
    const NewMessage message = message_of(load);
    repeat(measure, load, [&] {
        const std::unique_ptr<Transaction> tx = store.begin();
        outbox.enqueue(*tx, message);
        tx->commit();
        return std::size_t{1};
    });
    return measure;
}

Measure measure_enqueue_all(Store& store, const Load& load) {
    Measure measure{.name = "enqueue_all", .what = "100 messages in a transaction"};
    const Outbox outbox(store);
    const std::vector<NewMessage> messages(batch, message_of(load));
    repeat(measure, load, [&] { return outbox.enqueue_all(messages).size(); });
    return measure;
}

Measure measure_drain(Store& store, const Load& load) {
    Measure measure{.name = "drain", .what = "claim 100 messages, and ack them"};
    const Outbox outbox(store);
    repeat(measure, load, [&] {
        const std::vector<Message> messages = outbox.claim_due(batch);
        outbox.ack(messages);
        return messages.size();
    });
    return measure;
}

Measure measure_latency(Store& writer, Store& reader, const Load& load) {
    Measure measure{.name = &writer == &reader ? "latency_own_process" : "latency_other_process",
                    .what = &writer == &reader ? "commit to handler, in the writer's process"
                                               : "commit to handler, as in another process"};
    std::atomic<Clock::time_point> handled;
    std::counting_semaphore<> arrived(0);
    Dispatcher dispatcher(reader);
    dispatcher.on(topic, [&](const Message&) {
        handled = Clock::now();
        arrived.release();
    });
    dispatcher.start();
    const Outbox outbox(writer);
    const NewMessage message = message_of(load);
    for (const Clock::time_point end = Clock::now() + load.each; Clock::now() < end;) {
        load.interrupt->check();
        Clock::time_point committed;
        const std::unique_ptr<Transaction> tx = writer.begin();
        // Before the message: the first to hear that the server has confirmed.
        tx->after_commit([&committed] { committed = Clock::now(); });
        outbox.enqueue(*tx, message);
        tx->commit();
        if (!arrived.try_acquire_for(patience))
            throw Failure(ExitCode::failed, "a message of the bench did not arrive in 30 s");
        measure.times.push_back(
            std::chrono::duration_cast<microseconds>(handled.load() - committed));
        ++measure.messages;
        std::this_thread::sleep_for(pause);
    }
    dispatcher.close();
    std::ranges::sort(measure.times);
    return measure;
}

}  // namespace postroom::cli
