#include "torture/dispatch_worker.hpp"

#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "torture/dispatch_ledger.hpp"

namespace postroom::torture {

namespace {

using namespace std::chrono_literals;

constexpr int poisoned_exit = 9;
constexpr auto count_every = 50ms;

// Soon again after whatever happened, and nothing is purged: the judge looks at all of it.
DispatcherOptions dispatch_options(Duration lease, Observer& observer) {
    RetryPolicy retry = RetryPolicy::fast();
    retry.max_attempts = DispatchWorker::attempts_max;
    return {.lease = lease,
            .worker_count = 2,
            .batch = 20,
            .retry = retry,
            .crash_limit = DispatchWorker::crash_limit,
            .circuit_open_for = 100ms,
            .circuit_open_for_max = 500ms,
            .poll_interval_max = 100ms,
            .reap_interval = 200ms,
            .retention = Duration::zero(),
            .observer = &observer};
}

}  // namespace

// Without a journal there is nothing to be judged.
void LossObserver::observe(const Event& event) noexcept {
    if (event.kind != EventKind::lost || event.message == nullptr || !event.message->lease) return;
    journal_.write(DispatchLedger::lost_line(*event.message->lease));
}

DispatchWorker::DispatchWorker(std::unique_ptr<Store> store, const Options& options)
    : options_(options),
      journal_(options.journal),
      store_(std::move(store)),
      dispatcher_(*store_, dispatch_options(options.lease, losses_)) {
    for (const char* topic : {plain_topic, outage_topic})
        dispatcher_.on(topic, [this](const Message& message) { handle(message); });
    dispatcher_.on(refused_topic, [](const Message&) { throw std::runtime_error("not this one"); });
    dispatcher_.on(poison_topic, [](const Message&) { ::_exit(poisoned_exit); });
    dispatcher_.start();
}

void DispatchWorker::handle(const Message& message) {
    if (message.topic == outage_topic && std::filesystem::exists(options_.outage))
        throw DestinationDown("the destination is down");
    journal_.write(DispatchLedger::handled_line(message.message_id));
}

bool DispatchWorker::step() {
    std::this_thread::sleep_for(count_every);
    const Counts counts = store_->counts(Queue::outbox);
    return counts.ready + counts.in_progress > 0;
}

}  // namespace postroom::torture
