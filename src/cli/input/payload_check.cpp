#include "cli/input/payload_check.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "base/utf8.hpp"
#include "cli/output/text.hpp"
#include "queue/message_json.hpp"

namespace postroom::cli {

namespace {

// A text of another encoding says so.
bool claims_utf8(std::string_view content_type) {
    return content_type.starts_with("text/") &&
           content_type.find("charset") == std::string_view::npos;
}

}  // namespace

std::string payload_fault(const NewMessage& message) {
    const std::string_view payload = message.payload ? *message.payload : std::string_view();
    const char* expected = nullptr;
    if (is_json_content_type(message.content_type)) {
        if (!base::compact_json(payload)) expected = "JSON";
    } else if (claims_utf8(message.content_type) && !base::is_valid_utf8(payload)) {
        expected = "text in UTF-8";
    }
    if (expected == nullptr) return "";
    return fmt::format("the payload is not {}, although its content type is {}", expected,
                       printable(message.content_type));
}

}  // namespace postroom::cli
