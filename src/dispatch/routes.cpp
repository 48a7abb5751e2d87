#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "base/wildcards.hpp"
#include "postroom/error.hpp"
#include "postroom/handler.hpp"

namespace postroom {

Transaction& HandlerContext::transaction() const {
    if (transaction_ == nullptr) {
        throw Error(ErrorKind::misuse,
                    "transaction: this handler runs in none; register it with in_transaction()");
    }
    return *transaction_;
}

Routes& Routes::add(const AggregateType& aggregate_type, const TopicName& topic, Route route) {
    if (topic.empty()) throw std::invalid_argument("topic: must not be empty");
    if (aggregate_type.empty()) throw std::invalid_argument("aggregate_type: must not be empty");
    if (!route.handler && !route.batch && !route.async) {
        throw std::invalid_argument(
            fmt::format("handler of topic '{}': must not be empty", topic.str()));
    }
    const auto [at, added] =
        routes_.try_emplace({aggregate_type.str(), topic.str()}, std::move(route));
    if (!added) {
        throw Error(ErrorKind::misuse,
                    fmt::format("topic '{}' of aggregate type '{}' has a handler", topic.str(),
                                aggregate_type.str()));
    }
    return *this;
}

Routes& Routes::on_batch(const TopicName& topic, std::uint32_t batch_max, BatchHandler handler) {
    return on_batch({}, topic, batch_max, std::move(handler));
}

Routes& Routes::on_batch(const AggregateType& aggregate_type, const TopicName& topic,
                         std::uint32_t batch_max, BatchHandler handler) {
    if (batch_max == 0) throw std::invalid_argument("batch_max: 0, at least 1 needed");
    return add(aggregate_type, topic, {.batch = std::move(handler), .batch_max = batch_max});
}

Routes& Routes::on_matching(std::string pattern, std::uint32_t batch_max, BatchHandler handler,
                            std::string destination, std::optional<RetryPolicy> retry,
                            std::shared_ptr<SendRate> rate) {
    if (retry) validate(*retry);
    if (pattern.empty()) throw std::invalid_argument("pattern: must not be empty");
    if (batch_max == 0) throw std::invalid_argument("batch_max: 0, at least 1 needed");
    if (!handler) {
        throw std::invalid_argument(
            fmt::format("handler of topics '{}': must not be empty", pattern));
    }
    has_rates_ = has_rates_ || rate != nullptr;
    patterns_.emplace_back(std::move(pattern), Route{.batch = std::move(handler),
                                                     .batch_max = batch_max,
                                                     .destination = std::move(destination),
                                                     .retry = std::move(retry),
                                                     .rate = std::move(rate)});
    return *this;
}

std::vector<std::string> Routes::topics() const {
    std::set<std::string> names;
    for (const auto& [key, route] : routes_) names.insert(key.second);
    for (const auto& [pattern, route] : patterns_) names.insert(pattern);
    return {names.begin(), names.end()};
}

const Routes::Route* Routes::find(const Message& message) const {
    return find(message.aggregate_type, message.topic);
}

const Routes::Route* Routes::find(const std::string& aggregate_type,
                                  const std::string& topic) const {
    const auto at =
        routes_.find(std::pair<std::string_view, std::string_view>(aggregate_type, topic));
    return at == routes_.end() ? find_matching(topic) : &at->second;
}

const Routes::Route* Routes::find_matching(std::string_view topic) const {
    for (const auto& [pattern, route] : patterns_) {
        if (base::matches_wildcards(pattern, topic)) return &route;
    }
    return nullptr;
}

const std::string* Routes::destination(std::string_view topic) const {
    const Route* const route = find_matching(topic);
    return route == nullptr || route->destination.empty() ? nullptr : &route->destination;
}

const RetryPolicy* Routes::retry(std::string_view topic) const {
    const Route* const route = find_matching(topic);
    return route == nullptr || !route->retry ? nullptr : &*route->retry;
}

SendRate* Routes::rate(std::string_view topic) const {
    if (!has_rates_) return nullptr;
    const Route* const route = find_matching(topic);
    return route == nullptr ? nullptr : route->rate.get();
}

}  // namespace postroom
