// Dead messages, grouped by what their errors have in common.
//
// An error text holds ids, numbers and quoted values that differ from message to message; without
// them, messages that died of the same cause have the same text, and its hash is the fingerprint.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "postroom/store.hpp"

namespace postroom::admin {

// The text without what differs: "timeout after 30 s for 'a7'" -> "timeout after # s for '#'".
std::string common_error(std::string_view error);
// 16 hexadecimal digits, the same for messages of one group.
std::string fingerprint_of(const Message& message);
bool is_fingerprint(std::string_view text);

// The filter of a group: `filter` among the dead messages, since no others have a fingerprint.
// Throws std::invalid_argument when it names another state.
Query group_filter(Query filter);

// The dead messages of one group that match `query`, as Store::find_within() finds them. The
// database does not know fingerprints: all dead messages that match are read for it.
FoundPage find_group(Store& store, Queue queue, Query query, const std::string& fingerprint,
                     Duration patience = Duration::max());

struct DeadLetterGroup {
    std::string fingerprint{};
    std::string error{};  // common_error()
    Message newest{};     // without its payload
    std::uint64_t count = 0;
    std::map<std::string, std::uint64_t> topics{};
    Instant first_created{};
    Instant last_created{};
    // How many died in each of the last hours, the oldest hour first.
    std::array<std::uint64_t, 24> deaths_by_hour{};
};

struct DeadLetters {
    std::vector<DeadLetterGroup> groups{};  // the largest first
    std::uint64_t examined = 0;
    bool complete = true;  // false: there are more than were looked at
};

inline constexpr std::uint64_t dead_letters_examined_max = 10'000;

// Looks at the newest dead messages, until a stop.
DeadLetters dead_letters(Store& store, Queue queue,
                         std::uint64_t examined_max = dead_letters_examined_max,
                         const std::stop_token& stop = {});

}  // namespace postroom::admin
