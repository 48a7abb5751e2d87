#include "cli/config/gather.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/config/settings.hpp"
#include "cli/config/sources.hpp"
#include "cli/failure.hpp"
#include "cli/nearest.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

constexpr const char* default_file = "postroom.toml";

std::string config_file(const Invocation& in) {
    if (in.has("config")) return in.value("config");
    const char* const named = std::getenv("POSTROOM_CONFIG");
    if (named != nullptr && *named != '\0') return named;
    std::error_code ignored;
    return std::filesystem::exists(default_file, ignored) ? default_file : "";
}

std::vector<GivenValue> read_flags(const Invocation& in) {
    std::vector<GivenValue> values;
    for (const std::string& set : in.values("set")) {
        const std::size_t equals = set.find('=');
        if (equals == std::string::npos)
            throw Failure(ExitCode::usage, "--set needs KEY=VALUE, such as --set relay.batch=10");
        const std::string value = set.substr(equals + 1);
        values.push_back({set.substr(0, equals), value, value, "--set"});
    }
    if (in.has("url")) {
        const std::string url = in.value("url");
        values.push_back({"stores.main.url", url, url, "--url"});
    }
    return values;
}

// Everybody on the machine can read a command line.
void refuse_secret(const Setting& setting, const GivenValue& given) {
    if (!given.origin.starts_with("--")) return;
    if (!setting.secret && !(setting.kind == SettingKind::url && has_secret(given.value))) return;
    throw Failure(ExitCode::usage,
                  fmt::format("{}: a secret on the command line shows in the process list; put {} "
                              "into the environment or the config file",
                              given.origin, given.key));
}

// Of a store's setting that was given without the store.
std::string whose_setting(const std::string& key) {
    const std::vector<std::string> parts = split_key(key);
    const bool nobodys = parts.size() == 1 || (parts.size() == 2 && parts[0] == "stores");
    const std::string ours = fmt::format("stores.main.{}", parts.back());
    return nobodys && find_setting(ours, "") ? fmt::format("; did you mean '{}'?", ours) : "";
}

void check(const Values& values, const GivenValue& given) {
    const std::string type = sink_type_of(values, given.key);
    const ExitCode code = given.origin.starts_with("--") ? ExitCode::usage : ExitCode::config;
    const std::optional<Setting> setting = find_setting(given.key, type);
    if (!setting) {
        std::string hint = whose_setting(given.key);
        if (hint.empty()) hint = did_you_mean(given.key, candidate_keys(given.key, type));
        throw Failure(code, fmt::format("{}: unknown key '{}'{}", given.origin, given.key, hint));
    }
    refuse_secret(*setting, given);
    const std::string fault = fault_of(*setting, given.value);
    if (!fault.empty())
        throw Failure(code, fmt::format("{}: {} {}", given.origin, given.key, fault));
}

void check_type(const GivenValue& given) {
    std::vector<std::string> names;
    for (const SinkType& type : sink_types()) names.push_back(type.name);
    if (std::find(names.begin(), names.end(), given.value) != names.end()) return;
    throw Failure(ExitCode::config,
                  fmt::format("{}: {}: unknown type '{}'{}", given.origin, given.key,
                              printable(given.value), did_you_mean(given.value, names)));
}

void add_defaults(Values& values) {
    for (const Setting& setting : program_settings()) {
        const std::vector<std::string> parts = split_key(setting.name);
        if (parts.size() < 3) {
            values.try_emplace(setting.name, GivenValue{setting.name, setting.default_value,
                                                        setting.default_value, "default"});
            continue;
        }
        for (const std::string& name : names_under(values, parts[0])) {
            const std::string key = fmt::format("{}.{}.{}", parts[0], name, parts[2]);
            values.try_emplace(
                key, GivenValue{key, setting.default_value, setting.default_value, "default"});
        }
    }
}

void add_implied(Values& values) {
    const auto imply = [&values](const std::string& key, const std::string& value) {
        values.try_emplace(key, GivenValue{key, value, value, "default"});
    };
    if (names_under(values, "sinks").empty()) imply("sinks.stdout.type", "stdout");
    const std::set<std::string> sinks = names_under(values, "sinks");
    if (names_under(values, "routes").empty() && sinks.size() == 1) {
        imply("routes.0.topic", "*");
        imply("routes.0.sink", *sinks.begin());
    }
}

// Settings of the store "main" may be given without a URL; then it is the file in this folder.
bool add_default_store(Values& values) {
    const std::set<std::string> stores = names_under(values, "stores");
    if (values.contains("stores.main.url") || (!stores.empty() && !stores.contains("main")))
        return false;
    const GivenValue url{"stores.main.url", "sqlite:postroom.db", "sqlite:postroom.db", "default"};
    values.emplace("stores.main.url", url);
    values.try_emplace("stores.main.deploy_schema",
                       GivenValue{"stores.main.deploy_schema", "true", "true", "default"});
    return true;
}

}  // namespace

std::string sink_type_of(const Values& values, const std::string& key) {
    const std::vector<std::string> parts = split_key(key);
    if (parts.size() != 3 || parts[0] != "sinks") return "";
    const auto at = values.find(fmt::format("sinks.{}.type", parts[1]));
    return at == values.end() ? "stdout" : at->second.value;
}

std::set<std::string> names_under(const Values& values, const std::string& group) {
    std::set<std::string> names;
    for (auto at = values.lower_bound(group + "."); at != values.end(); ++at) {
        const std::vector<std::string> parts = split_key(at->first);
        if (parts[0] != group) break;
        if (parts.size() == 3) names.insert(parts[1]);
    }
    return names;
}

Gathered gather_values(const Invocation& in) {
    Gathered out{.file = config_file(in)};
    std::vector<GivenValue> given;
    if (!out.file.empty()) given = read_toml_file(out.file);
    EnvironmentValues environment = read_environment(environ);
    out.unknown_variables = std::move(environment.unknown);
    for (const std::vector<GivenValue>& more : {environment.values, read_flags(in)})
        given.insert(given.end(), more.begin(), more.end());
    for (const GivenValue& value : given) out.values.insert_or_assign(value.key, value);
    // A type comes before the settings that only it can judge; each value is judged, so that a bad
    // one is found even where another source overrides it.
    for (const GivenValue& value : given)
        if (value.key.starts_with("sinks.") && value.key.ends_with(".type")) check_type(value);
    for (const GivenValue& value : given) check(out.values, value);
    out.default_store = add_default_store(out.values);
    add_implied(out.values);
    add_defaults(out.values);
    return out;
}

}  // namespace postroom::cli
