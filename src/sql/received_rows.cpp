#include "sql/received_rows.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/base64.hpp"
#include "postroom/error.hpp"

namespace postroom::sql {

namespace {

constexpr std::size_t rows_max = 256;
// A fraction of what servers take in one packet.
constexpr std::size_t text_bytes_max = std::size_t{512} * 1024;
constexpr std::size_t payload_bytes_max = std::size_t{256} * 1024;

std::string as_base64(std::string_view bytes) {
    return fmt::format("\"{}\"", base::base64_encode(bytes));
}

std::string base64_or_null(const std::optional<std::string>& bytes) {
    return bytes ? as_base64(*bytes) : "null";
}

}  // namespace

// Base64 makes them a third longer: what fits into a packet by itself must not be refused here.
bool ReceivedRows::takes(const ReceivedMessage& m) {
    return !m.due_time && !m.expires_at && m.ordering_key.empty() && m.priority >= 0 &&
           m.payload->size() <= payload_bytes_max;
}

bool ReceivedRows::add(std::size_t index, const ReceivedMessage& m, const std::string& headers,
                       std::int64_t nonce) {
    const std::string row = fmt::format(
        "[{},{},{},{},{},{},{},{},{},{}]", nonce, as_base64(m.source), as_base64(m.message_id),
        as_base64(m.topic.view()), as_base64(m.content_type),
        headers.empty() ? "null" : as_base64(headers), base64_or_null(m.hash), m.priority,
        m.max_attempts ? std::to_string(*m.max_attempts) : "null", as_base64(*m.payload));
    const bool first = nonces_.empty();
    if (!first && (nonces_.size() == rows_max || text_.size() + row.size() > text_bytes_max))
        return false;
    text_.back() = first ? ' ' : ',';
    text_.append(row).push_back(']');
    nonces_.push_back(nonce);
    indexes_.push_back(index);
    return true;
}

std::size_t ReceivedRows::index_of(std::int64_t nonce) const {
    const auto found = std::find(nonces_.begin(), nonces_.end(), nonce);
    if (found == nonces_.end())
        throw Error(ErrorKind::misuse, "a row of the result belongs to no message");
    return indexes_[static_cast<std::size_t>(found - nonces_.begin())];
}

}  // namespace postroom::sql
