// The JSON writer, by the name that commands use.
#pragma once

#include "base/json_writer.hpp"

namespace postroom::cli {

using base::json_string;
using base::JsonArray;
using base::JsonObject;

}  // namespace postroom::cli
