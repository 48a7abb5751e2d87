// What an operator sees of the restore guard, and how its hold is ended.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "postroom/restore.hpp"

namespace postroom::admin {

struct RestoreReport {
    std::string store{};
    StoreHome home{};
    // Why delivery is held, or will be as soon as a relay looks; none: it is not.
    std::optional<std::string> why{};
};

// Throws Error{misuse} for a store without a guard.
RestoreReport restore_report(Store& store);

// The hold that is in force; none for a store without a guard, or where this user may not look.
std::optional<RestoreHold> restore_hold(Store& store);

// Holds delivery by hand; false: it was held already.
bool hold_delivery(Store& store, const std::string& who);

enum class RestoreAnswer : std::uint8_t {
    proceed,  // deliver everything as it is
    discard,  // first set aside what was waiting when the hold began
    requeue,  // also deliver what was set aside
};
std::string_view verb_of(RestoreAnswer answer);

struct RestoreRequest {
    RestoreAnswer answer = RestoreAnswer::proceed;
    std::string who{};
    // discard: only messages that were created before; none: before the hold began.
    std::optional<Instant> before{};
    // So many so far.
    std::function<void(std::uint64_t changed)> progress{};
};

struct RestoreResult {
    std::string store{};
    RestoreAnswer answer = RestoreAnswer::proceed;
    bool was_held = false;
    // Messages that are set aside, or requeued; of what goes on as it is, what waits.
    std::uint64_t matched = 0;
    std::uint64_t changed = 0;
    // discard: messages that a lease still protects. The hold stands until it is repeated.
    std::uint64_t left = 0;
    bool dry_run = false;

    bool goes_on() const { return !dry_run && left == 0; }
};

// Counts what decide() would change.
RestoreResult consider(Store& store, const RestoreRequest& request);
// In batches; after an interruption the same call goes on where it was, and the hold stands until
// all is done. It is written to the audit log.
RestoreResult decide(Store& store, const RestoreRequest& request);

}  // namespace postroom::admin
