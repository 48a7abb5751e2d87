// Values: every setting that was given or has a default, with where it came from.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace postroom::cli {

// A setting as one source gives it.
struct GivenValue {
    std::string key;
    std::string written;  // as it stands there
    std::string value;    // with ${env:...} and ${file:...} replaced
    std::string origin;   // "postroom.toml:3", "POSTROOM_URL", "--set", "default"
};

using Values = std::map<std::string, GivenValue>;

}  // namespace postroom::cli
