// Whether a payload is what its content type says.
#pragma once

#include <string>

#include "postroom/message.hpp"

namespace postroom::cli {

// "the payload is not JSON, although its content type is application/json"; empty when nothing is
// odd. Many receivers refuse such a message, and not at once but when it is delivered.
std::string payload_fault(const NewMessage& message);

}  // namespace postroom::cli
