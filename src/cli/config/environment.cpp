#include <fmt/format.h>

#include <algorithm>

#include "cli/config/sources.hpp"
#include "cli/failure.hpp"
#include "cli/nearest.hpp"

namespace postroom::cli {

namespace {

constexpr std::string_view name_prefix = "POSTROOM_";

// "RELAY__BATCH" -> "relay.batch"
std::string key_of(std::string_view name) {
    std::string key;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name.substr(i, 2) == "__") {
            key += '.';
            ++i;
        } else {
            const char c = name[i];
            key += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        }
    }
    return key;
}

// What Kubernetes puts into every container when there is a service of the name "postroom".
bool is_of_kubernetes(std::string_view name) {
    return name.starts_with("POSTROOM_SERVICE_") || name.starts_with("POSTROOM_PORT");
}

}  // namespace

EnvironmentValues read_environment(const char* const* environment) {
    static const std::vector<std::string> short_names{"URL", "CONFIG", "TOKEN"};
    EnvironmentValues out;
    std::vector<GivenValue>& values = out.values;
    for (; *environment != nullptr; ++environment) {
        const std::string_view entry(*environment);
        const std::size_t equals = entry.find('=');
        if (!entry.starts_with(name_prefix) || equals == std::string_view::npos) continue;
        const std::string name(entry.substr(0, equals));
        const std::string value(entry.substr(equals + 1));
        if (name == "POSTROOM_URL") {
            values.push_back({"stores.main.url", value, value, name});
        } else if (name.find("__") != std::string::npos) {
            values.push_back({key_of(name.substr(name_prefix.size())), value, value, name});
        } else if (name != "POSTROOM_CONFIG" && name != "POSTROOM_TOKEN") {
            // Others may have variables of that prefix too; only what looks like a slip is refused.
            const std::string hint =
                did_you_mean(name.substr(name_prefix.size()), short_names, name_prefix);
            if (!hint.empty()) {
                throw Failure(ExitCode::config,
                              fmt::format("environment: unknown variable '{}'{}", name, hint));
            }
            if (!is_of_kubernetes(name)) out.unknown.push_back(name);
        }
    }
    // POSTROOM_STORES__MAIN__URL wins over its short form, whatever the order.
    std::ranges::stable_sort(values, [](const GivenValue& a, const GivenValue& b) {
        return a.origin == "POSTROOM_URL" && b.origin != "POSTROOM_URL";
    });
    return out;
}

}  // namespace postroom::cli
