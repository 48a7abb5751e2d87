#include "cli/number_option.hpp"

#include <fmt/format.h>

#include <optional>

#include "cli/failure.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

std::int64_t number_of(const Invocation& in, const std::string& option, std::int64_t otherwise,
                       std::int64_t min, std::int64_t max) {
    if (!in.has(option)) return otherwise;
    const std::optional<std::int64_t> number = parse_integer(in.value(option));
    if (!number || *number < min || *number > max) {
        throw Failure(ExitCode::usage,
                      fmt::format("--{} must be a whole number from {} to {}", option, min, max));
    }
    return *number;
}

}  // namespace postroom::cli
