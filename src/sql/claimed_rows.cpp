#include "sql/claimed_rows.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sql/message_row.hpp"

namespace postroom::sql {

namespace {

constexpr std::size_t room_max = 1000;

}  // namespace

void ClaimedRows::add(const Row& row) {
    // Messages are costly to move. Most claims find nothing, and they need no room.
    if (messages_.empty()) messages_.reserve(std::min(rows_max_, room_max));
    const bool left_out = payload_is_left_out(row);
    const std::size_t bytes =
        left_out ? static_cast<std::size_t>(row.integer(payload_bytes_column)) : content_bytes(row);
    if (!left_out && takes(bytes))
        messages_.push_back(read_message(queue_, row));
    else
        turn_away(read_message(queue_, row, Content::left_out), bytes);
}

bool ClaimedRows::takes(std::size_t bytes) {
    const bool first = bytes_ == 0;
    bytes_ += bytes;
    return bytes_ <= most_.in_all || (first && bytes <= most_.of_one);
}

void ClaimedRows::turn_away(Message labels, std::size_t bytes) {
    if (bytes <= most_.of_one) return beyond_.push_back(labels.lease.value());
    add_unreadable(std::move(labels), fmt::format("payload and headers: {} bytes, at most {} "
                                                  "allowed (claim_bytes, max_payload_bytes)",
                                                  bytes, most_.of_one));
}

void ClaimedRows::add_unreadable(Message labels, std::string why) {
    labels.unreadable = std::move(why);
    messages_.push_back(std::move(labels));
}

void ClaimedRows::clear() {
    bytes_ = 0;
    messages_.clear();
    beyond_.clear();
}

std::vector<Message> ClaimedRows::take() {
    const auto goes_first = [](const Message& a, const Message& b) {
        return std::tuple(-std::int64_t{a.priority}, a.id) <
               std::tuple(-std::int64_t{b.priority}, b.id);
    };
    // Mostly they come that way, and messages are costly to move.
    if (!std::is_sorted(messages_.begin(), messages_.end(), goes_first))
        std::sort(messages_.begin(), messages_.end(), goes_first);
    return std::move(messages_);
}

}  // namespace postroom::sql
