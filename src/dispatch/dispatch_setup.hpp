// DispatchSetup: what a dispatcher works with, and what its options say about a message.
//
// Thread safety: constant after construction, but for `random`, which is used under the lock of the
// state.
#pragma once

#include <memory>
#include <string>

#include "postroom/dispatcher.hpp"

namespace postroom {

struct DispatchSetup {
    // All of them must outlive this. `given_routes` may be shared with others; nullptr: its own.
    // Throws std::out_of_range with the name of an option that is not allowed.
    DispatchSetup(Store& given_store, const DispatcherOptions& given_options,
                  const Clock& given_clock, Random& given_random,
                  std::shared_ptr<Routes> given_routes);

    const TopicOptions* topic_options(const std::string& topic) const;
    const RetryPolicy& retry_policy(const std::string& topic) const;
    const std::string& destination(const std::string& topic) const;
    bool frees_key(const std::string& topic) const;
    // nullptr: as fast as it goes.
    SendRate* rate(const std::string& topic) const;

    Store& store;
    const DispatcherOptions options;
    const OwnerToken owner;
    Observer& observer;
    const Clock& clock;
    Random& random;
    const std::shared_ptr<Routes> shared_routes;
    Routes& routes;
};

// Gives a message back for `delay`, without an attempt.
Settlement released(const Message& message, Duration delay, std::string why);

}  // namespace postroom
