// ReceivedRows: messages for the inbox as one text, for engines without arrays of texts.
//
// A JSON array with a row for each message: nonce, source, message id, topic, content type,
// headers, hash, priority, max_attempts, payload. Texts and bytes are in base64, which needs no
// escapes and holds any byte; what is missing is null. Views into the messages are not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/message.hpp"
#include "sql/value.hpp"

namespace postroom::sql {

class ReceivedRows {
public:
    // Whether the message needs nothing but to be stored: its time has come, and it waits for none.
    static bool takes(const ReceivedMessage& message);

    // False when there is no room; an empty one has room for any message that it takes.
    bool add(std::size_t index, const ReceivedMessage& message, const std::string& headers,
             std::int64_t nonce);

    std::string_view text() const { return text_; }
    IntArray nonces() const { return nonces_; }
    // What was given to add() with this nonce.
    std::size_t index_of(std::int64_t nonce) const;

private:
    std::string text_ = "[]";
    std::vector<std::int64_t> nonces_;
    std::vector<std::size_t> indexes_;
};

}  // namespace postroom::sql
