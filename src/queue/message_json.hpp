// A message as one line of JSON, in the form that `enqueue` reads.
#pragma once

#include <string>
#include <string_view>

#include "postroom/message.hpp"

namespace postroom {

// application/json and whatever ends in +json, with or without parameters.
bool is_json_content_type(std::string_view content_type);

// Appends the payload as a member: `"payload":` and JSON as it is, or text as a string, when the
// content type says so and the bytes agree; else `"payload_base64":`.
void append_payload_member(std::string& out, const Message& message);

// An object without a line end. Fields that are empty are left out; names are those of the columns.
std::string message_json(const Message& message);

}  // namespace postroom
