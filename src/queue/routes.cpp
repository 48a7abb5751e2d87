#include <stdexcept>

#include <fmt/format.h>

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
    const auto [at, added] =
        routes_.try_emplace({aggregate_type.str(), topic.str()}, std::move(route));
    if (!added) {
        throw Error(ErrorKind::misuse,
                    fmt::format("topic '{}' of aggregate type '{}' has a handler", topic.str(),
                                aggregate_type.str()));
    }
    return *this;
}

const Routes::Route* Routes::find(const Message& message) const {
    const auto at = routes_.find({message.aggregate_type, message.topic});
    return at == routes_.end() ? nullptr : &at->second;
}

}  // namespace postroom
