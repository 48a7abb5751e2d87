#include "dispatch/dispatch_setup.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace postroom {

namespace {

void require(bool holds, std::string_view option, std::string_view rule) {
    if (!holds) throw std::out_of_range(fmt::format("{}: {}", option, rule));
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
    require(options.claim_bytes > 0, "claim_bytes", "must be at least 1");
    require(options.cold_capacity > 0, "cold_capacity", "must be at least 1");
    require(options.async_max > 0, "async_max", "must be at least 1");
    require(options.settle_batch > 0 && options.settle_batch <= limits.batch_max, "settle_batch",
            "must be at least 1 and at most batch_max");
    require(options.crash_limit > 0, "crash_limit", "must be at least 1");
    require(options.in_flight_ttl >= Duration::zero(), "in_flight_ttl", "must not be negative");
    for (const auto& [name, value] : {std::pair{"settle_delay", options.settle_delay},
                                      {"drain_timeout", options.drain_timeout},
                                      {"other_queue_retention", options.other_queue_retention},
                                      {"dead_retention", options.dead_retention},
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

DispatchSetup::DispatchSetup(Store& given_store, const DispatcherOptions& given_options,
                             const Clock& given_clock, Random& given_random,
                             std::shared_ptr<Routes> given_routes)
    : store(given_store),
      options((validate(given_options, given_store.limits()), given_options)),
      owner(given_options.owner.is_nil() ? OwnerToken::generate() : given_options.owner),
      observer(given_options.observer == nullptr ? default_observer() : *given_options.observer),
      clock(given_clock),
      random(given_random),
      shared_routes(given_routes == nullptr ? std::make_shared<Routes>() : std::move(given_routes)),
      routes(*shared_routes) {}

const TopicOptions* DispatchSetup::topic_options(const std::string& topic) const {
    const auto at = options.topics.find(topic);
    return at == options.topics.end() ? nullptr : &at->second;
}

const RetryPolicy& DispatchSetup::retry_policy(const std::string& topic) const {
    const TopicOptions* const of_topic = topic_options(topic);
    if (of_topic != nullptr && of_topic->retry) return *of_topic->retry;
    const RetryPolicy* const of_pattern = routes.retry(topic);
    return of_pattern != nullptr ? *of_pattern : options.retry;
}

const std::string& DispatchSetup::destination(const std::string& topic) const {
    const TopicOptions* const of_topic = topic_options(topic);
    if (of_topic != nullptr && !of_topic->destination.empty()) return of_topic->destination;
    const std::string* const of_pattern = routes.destination(topic);
    return of_pattern != nullptr ? *of_pattern : topic;
}

bool DispatchSetup::frees_key(const std::string& topic) const {
    const TopicOptions* const of_topic = topic_options(topic);
    return of_topic != nullptr && of_topic->frees_key;
}

SendRate* DispatchSetup::rate(const std::string& topic) const {
    const TopicOptions* const of_topic = topic_options(topic);
    return of_topic != nullptr && of_topic->rate ? of_topic->rate.get() : routes.rate(topic);
}

Settlement released(const Message& message, Duration delay, std::string why) {
    return {.lease = message.lease.value(),
            .outcome = Outcome::release,
            .error = std::move(why),
            .delay = delay};
}

}  // namespace postroom
