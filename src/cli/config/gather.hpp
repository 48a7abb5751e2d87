// The first half of loading: all values with their origins, known and well-formed, defaults filled
// in. What they mean together is judged by load_config().
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/config/values.hpp"

namespace postroom::cli {

struct Gathered {
    std::string file{};
    Values values{};
    bool default_store = false;
    std::vector<std::string> unknown_variables{};
};

// Throws as load_config() does.
Gathered gather_values(const Invocation& in);

// The names under `group`: for "stores" those in stores.NAME.url.
std::set<std::string> names_under(const Values& values, const std::string& group);

// The type of the sink that `key` is about; empty when it is about none.
std::string sink_type_of(const Values& values, const std::string& key);

}  // namespace postroom::cli
