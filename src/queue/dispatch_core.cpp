#include "queue/dispatch_core.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.hpp"
#include "postroom/error.hpp"

namespace postroom {

namespace {

void require(bool holds, std::string_view option, std::string_view rule) {
    if (!holds) throw std::out_of_range(fmt::format("{}: {}", option, rule));
}

// An acknowledgement for which nobody waits is patient: the more come together, the less each
// costs.
Duration patient_delay(const DispatcherOptions& options) {
    return std::clamp(5 * options.settle_delay, options.settle_delay,
                      std::max(options.settle_delay, options.lease / 30));
}

}  // namespace

void validate(const DispatcherOptions& options, const Limits& limits) {
    validate(options.retry);
    for (const auto& [topic, of_topic] : options.topics)
        if (of_topic.retry) validate(*of_topic.retry);
    require(options.lease > Duration::zero() && options.lease <= limits.lease_max, "lease",
            "must be above 0 and at most lease_max");
    require(options.worker_count > 0 && options.worker_count <= 1024, "worker_count",
            "must be between 1 and 1024");
    require(options.store_threads > 0 && options.store_threads <= 1024, "store_threads",
            "must be between 1 and 1024");
    require(options.batch > 0 && options.batch <= limits.batch_max, "batch",
            "must be at least 1 and at most batch_max");
    require(options.cold_capacity > 0, "cold_capacity", "must be at least 1");
    require(options.async_max > 0, "async_max", "must be at least 1");
    require(options.settle_batch > 0 && options.settle_batch <= limits.batch_max, "settle_batch",
            "must be at least 1 and at most batch_max");
    require(options.crash_limit > 0, "crash_limit", "must be at least 1");
    require(options.in_flight_ttl >= Duration::zero(), "in_flight_ttl", "must not be negative");
    for (const auto& [name, value] : {std::pair{"settle_delay", options.settle_delay},
                                      {"drain_timeout", options.drain_timeout},
                                      {"retention", options.retention.value_or(Duration::zero())}})
        require(value >= Duration::zero() && value <= limits.delay_max, name,
                "must be at least 0 and at most delay_max");
    for (const auto& [name, value] : {std::pair{"hold_delay", options.hold_delay},
                                      {"circuit_open_for", options.circuit_open_for},
                                      {"circuit_open_for_max", options.circuit_open_for_max},
                                      {"poll_interval_max", options.poll_interval_max},
                                      {"quiet_poll_interval", options.quiet_poll_interval},
                                      {"reap_interval", options.reap_interval},
                                      {"purge_interval", options.purge_interval}})
        require(value > Duration::zero() && value <= limits.delay_max, name,
                "must be above 0 and at most delay_max");
}

DispatchCore::DispatchCore(Store& store, const DispatcherOptions& options, const Clock& clock,
                           Random& random, std::shared_ptr<Routes> routes)
    : store_(store),
      options_((validate(options, store.limits()), options)),
      owner_(options.owner.is_nil() ? OwnerToken::generate() : options.owner),
      clock_(clock),
      random_(random),
      shared_routes_(routes == nullptr ? std::make_shared<Routes>() : std::move(routes)),
      routes_(*shared_routes_),
      wake_ups_(std::make_shared<WakeUps>()),
      queues_(options.hot_capacity, options.cold_capacity),
      in_flight_(options.lease, options.in_flight_ttl),
      pacer_({.batch = options.batch, .poll_interval_max = options.poll_interval_max}),
      settler_({.batch = options.settle_batch,
                .delay = patient_delay(options),
                .hurried_delay = options.settle_delay}),
      circuits_(
          {.open_for = options.circuit_open_for, .open_for_max = options.circuit_open_for_max},
          options.worker_count) {}

DispatchCore::~DispatchCore() = default;

void DispatchCore::intercept(std::shared_ptr<Interceptor> interceptor) {
    interceptors_.push_back(std::move(interceptor));
}

void DispatchCore::connect(WakeUps wake_ups) {
    const base::MutexLock lock(wake_mutex_);
    wake_ups_ = std::make_shared<const WakeUps>(std::move(wake_ups));
}

void DispatchCore::disconnect() {
    connect({});
    const base::MutexLock lock(mutex_);
    closed_ = true;
}

// Called under its mutex, so that disconnect() returns after the last call.
void DispatchCore::wake(const std::function<void()> WakeUps::*whom) const {
    const base::MutexLock lock(wake_mutex_);
    const std::function<void()>& call = (*wake_ups_).*whom;
    if (call) call();
}

void DispatchCore::wake_workers(std::size_t count) const {
    const base::MutexLock lock(wake_mutex_);
    if (wake_ups_->workers && count > 0) wake_ups_->workers(count);
}

void DispatchCore::begin_close() {
    {
        const base::MutexLock lock(mutex_);
        if (closing_) return;
        closing_ = true;
        const Instant now = clock_.now();
        std::vector<Message> waiting = queues_.drain();
        if (lonely_) waiting.push_back(*std::exchange(lonely_, std::nullopt));
        for (Message& message : waiting) {
            if (in_flight_.holds(*message.lease, now)) release_at_close(std::move(message));
        }
        // One that a savepoint has taken back is not there to be released: a lost lease.
        for (Unverified& one : std::exchange(unverified_, {})) {
            queues_.give_back_hot(1);
            release_at_close(std::move(one.message));
        }
    }
    wake(&WakeUps::settler);
}

void DispatchCore::request_stop_of_handlers() {
    std::vector<std::stop_source> sources;
    {
        const base::MutexLock lock(mutex_);
        sources = in_flight_.running();
    }
    for (std::stop_source& source : sources) source.request_stop();
}

bool DispatchCore::idle() const {
    const base::MutexLock lock(mutex_);
    return running_ == 0 && telling_ == 0 && settling_ == 0 && settler_.empty();
}

bool DispatchCore::all_settled() const {
    const base::MutexLock lock(mutex_);
    return settling_ == 0 && settler_.empty();
}

void DispatchCore::pause(const std::string& topic) {
    const base::MutexLock lock(mutex_);
    paused_.insert(topic);
}

void DispatchCore::resume(const std::string& topic) {
    const base::MutexLock lock(mutex_);
    paused_.erase(topic);
}

DispatcherStatus DispatchCore::status() const {
    const base::MutexLock lock(mutex_);
    return {.hot_depth = queues_.hot_size(),
            .cold_depth = queues_.cold_size(),
            .running = running_,
            .in_flight = in_flight_.size(),
            .paused = {paused_.begin(), paused_.end()},
            .open_circuits = circuits_.open()};
}

const TopicOptions* DispatchCore::topic_options(const std::string& topic) const {
    const auto at = options_.topics.find(topic);
    return at == options_.topics.end() ? nullptr : &at->second;
}

const RetryPolicy& DispatchCore::retry_policy(const std::string& topic) const {
    const TopicOptions* const of_topic = topic_options(topic);
    return of_topic != nullptr && of_topic->retry ? *of_topic->retry : options_.retry;
}

const std::string& DispatchCore::destination(const std::string& topic) const {
    const TopicOptions* const of_topic = topic_options(topic);
    if (of_topic != nullptr && !of_topic->destination.empty()) return of_topic->destination;
    const std::string* const of_pattern = routes_.destination(topic);
    return of_pattern != nullptr ? *of_pattern : topic;
}

Settlement DispatchCore::release(const Message& message, Duration delay, std::string why) {
    return {.lease = message.lease.value(),
            .outcome = Outcome::release,
            .error = std::move(why),
            .delay = delay};
}

Settlement DispatchCore::settlement(const Message& message, const Verdict& verdict, Instant now) {
    const TopicOptions* const of_topic = topic_options(message.topic);
    const RetryPolicy& policy = retry_policy(message.topic);
    Settlement out{.lease = message.lease.value(),
                   .outcome = verdict.outcome,
                   .error = std::string(base::truncate_utf8(base::sanitize_utf8(verdict.error),
                                                            store_.limits().max_error_chars)),
                   .frees_key = of_topic != nullptr && of_topic->frees_key};
    if (verdict.outcome == Outcome::abandon) {
        const Duration delay =
            verdict.delay.value_or(policy.delay(message.lease->retry_count + 1, random_));
        out.delay = std::clamp(delay, Duration{1}, store_.limits().delay_max);
        out.max_attempts = policy.max_attempts;
    } else if (verdict.outcome == Outcome::release) {
        const Duration delay = verdict.destination_down
                                   ? circuits_.rest(destination(message.topic), now)
                                   : verdict.delay.value_or(blameless_pause);
        out.delay = std::clamp(delay, Duration::zero(), store_.limits().delay_max);
    }
    return out;
}

void DispatchCore::settle_later(Message message, Settlement settlement, Instant now) {
    in_flight_.finish(settlement.lease);
    const bool hurried = hurries(message, settlement);
    settler_.add(outgoing(message, std::move(settlement), Duration::zero()), now, hurried);
}

// Only the observer wants the message, and neither payload nor headers.
Outgoing DispatchCore::outgoing(Message& message, Settlement settlement, Duration took) const {
    Outgoing out{.settlement = std::move(settlement), .took = took};
    // With a key it must be safe: a redelivery would come after later messages of the key.
    out.settlement.relaxed = message.ordering_key.empty();
    if (options_.observer != nullptr) {
        message.payload.clear();
        message.headers.clear();
        out.message = std::make_unique<const Message>(std::move(message));
    }
    return out;
}

bool DispatchCore::hurries(const Message& message, const Settlement& settlement) const {
    return settlement.outcome != Outcome::ack || !message.ordering_key.empty() || lonely_ ||
           alone_ || is_lonely(message) || closing_;
}

void DispatchCore::observe(Event event) const {
    if (options_.observer == nullptr) return;
    event.queue = options_.queue;
    event.store = store_.id();
    options_.observer->observe(event);
}

void DispatchCore::observe(EventKind kind, const Message& message, std::string_view error) const {
    if (options_.observer == nullptr) return;
    Message told;
    told.id = message.id;
    told.queue = message.queue;
    told.state = message.state;
    told.message_id = message.message_id;
    told.topic = message.topic;
    told.correlation_id = message.correlation_id;
    told.tenant_id = message.tenant_id;
    told.idempotency_key = message.idempotency_key;
    told.aggregate_type = message.aggregate_type;
    told.aggregate_id = message.aggregate_id;
    told.ordering_key = message.ordering_key;
    told.source = message.source;
    told.created_at = message.created_at;
    told.retry_count = message.retry_count;
    told.lost_count = message.lost_count;
    told.lease = message.lease;
    observe({.kind = kind, .message = &told, .error = error});
}

void DispatchCore::store_failed(std::string_view operation, std::string_view error) const {
    failures_.fetch_add(1, std::memory_order_relaxed);
    observe({.kind = EventKind::store_failed, .error = error, .operation = operation});
}

}  // namespace postroom
