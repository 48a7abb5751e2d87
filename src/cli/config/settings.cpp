#include "cli/config/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

// "a.b" for the pattern "a.*" with the key "a.b.c": what it would be called with the key's names.
std::optional<std::string> fitted(const std::string& pattern, const std::vector<std::string>& key) {
    std::vector<std::string> parts = split_key(pattern);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i] != "*") continue;
        if (i >= key.size()) return std::nullopt;
        parts[i] = key[i];
    }
    return fmt::format("{}", fmt::join(parts, "."));
}

const SinkType* type_named(const std::vector<SinkType>& types, const std::string& name) {
    const auto at = std::ranges::find(types, name, &SinkType::name);
    return at == types.end() ? nullptr : &*at;
}

bool is_number_within(const Setting& setting, const std::string& text) {
    const std::optional<std::int64_t> number = parse_integer(text);
    return number && *number >= 0 && static_cast<std::uint64_t>(*number) >= setting.least &&
           static_cast<std::uint64_t>(*number) <= setting.most;
}

bool is_decimal_within(const Setting& setting, const std::string& text) {
    const std::optional<double> number = parse_decimal(text);
    return number && *number >= static_cast<double>(setting.least) &&
           *number <= static_cast<double>(setting.most);
}

bool is_duration_within(const Setting& setting, const std::string& text) {
    const std::optional<Duration> duration = parse_duration(text);
    if (!duration) return false;
    const auto milliseconds = static_cast<std::uint64_t>(duration->count()) / 1000;
    return milliseconds >= setting.least && milliseconds <= setting.most;
}

}  // namespace

std::vector<std::string> split_key(std::string_view key) {
    std::vector<std::string> parts;
    while (true) {
        const std::size_t dot = key.find('.');
        parts.emplace_back(key.substr(0, dot));
        if (dot == std::string_view::npos) return parts;
        key.remove_prefix(dot + 1);
    }
}

std::optional<Setting> find_setting(const std::string& key, const std::string& sink_type) {
    const std::vector<std::string> parts = split_key(key);
    for (const Setting& setting : program_settings()) {
        if (fitted(setting.name, parts) == key) return setting;
    }
    if (parts.size() != 3 || parts[0] != "sinks") return std::nullopt;
    const std::vector<SinkType> types = sink_types();
    const SinkType* const type = type_named(types, sink_type);
    if (type == nullptr) return std::nullopt;
    const auto at = std::ranges::find(type->settings, parts[2], &SinkSetting::name);
    if (at == type->settings.end()) return std::nullopt;
    return *at;
}

std::vector<std::string> candidate_keys(const std::string& key, const std::string& sink_type) {
    const std::vector<std::string> parts = split_key(key);
    std::vector<std::string> keys;
    for (const Setting& setting : program_settings()) {
        if (const auto candidate = fitted(setting.name, parts)) keys.push_back(*candidate);
    }
    const std::vector<SinkType> types = sink_types();
    const SinkType* const type = type_named(types, sink_type);
    if (type != nullptr && parts.size() > 1) {
        for (const SinkSetting& setting : type->settings)
            keys.push_back(fmt::format("sinks.{}.{}", parts[1], setting.name));
    }
    return keys;
}

std::string fault_of(const Setting& setting, const std::string& text) {
    switch (setting.kind) {
        case SettingKind::flag:
            return text == "true" || text == "false" ? "" : "must be true or false";
        case SettingKind::count:
            return is_number_within(setting, text)
                       ? ""
                       : fmt::format("must be a whole number from {} to {}", setting.least,
                                     setting.most);
        case SettingKind::duration:
            return is_duration_within(setting, text)
                       ? ""
                       : "must be a number with a unit, such as 500ms, 30s, 5m, 2h or 7d" +
                             (setting.least > 0 ? fmt::format(", at least {}ms", setting.least)
                                                : std::string());
        case SettingKind::decimal:
            return is_decimal_within(setting, text)
                       ? ""
                       : fmt::format("must be a number from {} to {}", setting.least, setting.most);
        case SettingKind::choice:
            return std::ranges::find(setting.choices, text) != setting.choices.end()
                       ? ""
                       : fmt::format("must be one of {}", fmt::join(setting.choices, ", "));
        case SettingKind::text:
        case SettingKind::path:
        case SettingKind::url:
        case SettingKind::list:
            break;
    }
    if (text.find('\0') != std::string::npos) return "must not hold a NUL";
    return setting.required && text.empty() ? "must not be empty" : "";
}

std::string shown_value(const Setting& setting, const std::string& text) {
    if (text.empty()) return "";
    // The name of a database may be shown; the path of a webhook may be its secret.
    const bool of_store = setting.name.starts_with("stores.");
    if (setting.kind == SettingKind::url && of_store) return mask_url(text);
    return masked(setting, text);
}

std::string mask_url(std::string_view url) {
    const std::size_t scheme = url.find("://");
    // Without one it is the path of a file, or nobody knows what.
    if (scheme == std::string_view::npos && !url.starts_with("sqlite:")) return "***";
    const std::size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
    std::string shown(url.substr(0, begin));
    std::string_view rest = url.substr(begin);
    const std::size_t at = rest.rfind('@');
    if (at != std::string_view::npos) {
        shown += "***";
        rest.remove_prefix(at);
    }
    const std::size_t query = rest.find_first_of("?#");
    shown += rest.substr(0, query);
    if (query != std::string_view::npos) shown += fmt::format("{}***", rest[query]);
    return shown;
}

bool has_secret(std::string_view url) {
    const std::size_t scheme = url.find("://");
    const std::string_view rest = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
    const std::size_t at = rest.rfind('@');
    if (at != std::string_view::npos && rest.substr(0, at).find(':') != std::string_view::npos)
        return true;
    return rest.find("password") != std::string_view::npos ||
           rest.find("passwd") != std::string_view::npos;
}

}  // namespace postroom::cli
