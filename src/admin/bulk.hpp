// Redriving, retrying now and discarding: messages that are named, or all that match a filter.
//
// A change by filter works in batches, each a transaction of its own; after an interruption the
// same call goes on where it was, because what has been changed does not match any more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "admin/change.hpp"
#include "postroom/store.hpp"

namespace postroom::admin {

// Why one of the named messages cannot be changed.
struct Refusal {
    enum class Why : std::uint8_t { unknown, several, wrong_state };
    std::string id{};
    Why why = Why::unknown;
    State state = State::ready;  // wrong_state
};

struct NamedMessages {
    std::vector<WorkItemId> ids{};
    std::optional<Refusal> refusal{};  // of the first that has one; then there are no ids
};

// Looks all of them up, by the ids of their rows or by message id, before any is touched.
NamedMessages choose_named(Store& store, Queue queue, Change change,
                           std::span<const std::string> names);

struct BulkResult {
    std::uint64_t matched = 0;
    std::uint64_t changed = 0;
    bool stopped = false;  // before all were done
};

BulkResult change_named(Store& store, Queue queue, Change change, std::span<const WorkItemId> ids);

struct BulkOptions {
    std::uint64_t per_second = 0;  // at most; 0: no limit
    // No more than so many in all, as somebody has agreed to: what comes to match later stays.
    std::optional<std::uint64_t> at_most{};
    std::stop_token stop{};  // ends it after the batch that is under way
    // Of those that match the filter only the dead letters of this group (dead_letters.hpp).
    // Empty: all.
    std::string fingerprint{};
    // Called before the first one is changed. What it throws comes out.
    std::function<void()> begins{};
    // Called after each batch with how many were changed so far.
    std::function<void(std::uint64_t changed)> progress{};
};

// How many change_matching() would find. With a fingerprint it reads all that match the filter; a
// stop ends that with Error{unavailable}.
std::uint64_t count_matching(Store& store, Queue queue, Change change, const Query& filter,
                             const std::string& fingerprint = {}, const std::stop_token& stop = {});

BulkResult change_matching(Store& store, Queue queue, Change change, const Query& filter,
                           const BulkOptions& options = {});

}  // namespace postroom::admin
