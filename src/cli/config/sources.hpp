// Where settings are written: the TOML file and the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/config/values.hpp"

namespace postroom::cli {

// All values of the file, in its order. [[routes]] become routes.0, routes.1 and so on; an array of
// texts becomes one text with spaces. Throws Failure{config} with file and line, Failure{not_found}
// when there is no such file.
std::vector<GivenValue> read_toml_file(const std::string& path);
// All values of `text`, as read_toml_file() returns those of a file; `name` stands for the file in
// what is reported.
std::vector<GivenValue> read_toml(std::string_view text, const std::string& name);

// `text` with ${env:NAME} and ${file:PATH} replaced. Throws Failure{config} that begins with
// `where`.
std::string interpolated(const std::string& text, const std::string& where);

// Those of `environment` (NAME=value) that begin with POSTROOM_. Names with "__" are keys:
// POSTROOM_RELAY__BATCH is relay.batch. Throws Failure{config} for a name that is nearly one of
// ours.
struct EnvironmentValues {
    std::vector<GivenValue> values{};
    std::vector<std::string> unknown{};  // names that mean nothing to us
};
EnvironmentValues read_environment(const char* const* environment);

}  // namespace postroom::cli
