#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/assert.hpp"
#include "base/listed_words.hpp"
#include "base/nearest.hpp"
#include "postroom/sink.hpp"

namespace postroom {

namespace {

using std::chrono::milliseconds;

std::optional<std::uint64_t> number_from(std::string_view text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    return number;
}

struct Unit {
    std::string_view suffix;
    std::uint64_t milliseconds;
};
constexpr Unit units[] = {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};

std::optional<std::uint64_t> milliseconds_from(std::string_view text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::optional<std::uint64_t> number = number_from(text.substr(0, digits));
    for (const Unit& unit : units) {
        if (!number || text.substr(digits) != unit.suffix) continue;
        if (*number > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
        return *number * unit.milliseconds;
    }
    return std::nullopt;
}

std::string duration_text(std::uint64_t length) {
    for (const Unit& unit : {units[3], units[2], units[1]}) {
        if (length != 0 && length % unit.milliseconds == 0)
            return fmt::format("{}{}", length / unit.milliseconds, unit.suffix);
    }
    return fmt::format("{}ms", length);
}

std::string range_text(const SinkSetting& setting) {
    const bool is_duration = setting.kind == SettingKind::duration;
    const auto show = [is_duration](std::uint64_t limit) {
        return is_duration ? duration_text(limit) : std::to_string(limit);
    };
    if (setting.most == UINT64_MAX) return fmt::format(" of at least {}", show(setting.least));
    return fmt::format(" from {} to {}", show(setting.least), show(setting.most));
}

bool decimal_within(const SinkSetting& setting, std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() &&
           number >= static_cast<double>(setting.least) &&
           number <= static_cast<double>(setting.most);
}

// What the text should have been; empty when it is.
std::string fault_of(const SinkSetting& setting, const std::string& text) {
    std::optional<std::uint64_t> number;
    switch (setting.kind) {
        case SettingKind::text:
        case SettingKind::path:
        case SettingKind::url:
        case SettingKind::list:
            return text.find('\0') == std::string::npos ? "" : "must not hold a NUL";
        case SettingKind::flag:
            return text == "true" || text == "false" ? "" : "must be true or false";
        case SettingKind::choice:
            if (std::ranges::find(setting.choices, text) != setting.choices.end()) return "";
            return fmt::format("must be one of {}", fmt::join(setting.choices, ", "));
        case SettingKind::count:
            number = number_from(text);
            if (number && *number >= setting.least && *number <= setting.most) return "";
            return "must be a whole number" + range_text(setting);
        case SettingKind::duration:
            number = milliseconds_from(text);
            if (number && *number >= setting.least && *number <= setting.most) return "";
            return "must be a duration" + range_text(setting) + ", such as " +
                   (setting.default_value.empty() ? "30s" : setting.default_value);
        case SettingKind::decimal:
            return decimal_within(setting, text) ? "" : "must be a number" + range_text(setting);
    }
    POSTROOM_ASSERT(!"a kind outside the enum");
    return {};
}

void refuse_unknown(const SinkConfig& config, std::span<const SinkSetting> described) {
    std::vector<std::string> known;
    for (const SinkSetting& setting : described) known.push_back(setting.name);
    for (const auto& [name, value] : config.settings) {
        if (std::ranges::find(known, name) != known.end()) continue;
        const std::optional<std::string> meant = base::nearest(name, known);
        throw SinkConfigError(
            config.name, name,
            fmt::format("is not a setting of the type {}; {}", config.type,
                        meant ? fmt::format("did you mean '{}'?", *meant)
                              : fmt::format("known: {}", fmt::join(known, ", "))));
    }
}

}  // namespace

std::string_view to_string(SettingKind kind) {
    switch (kind) {
        case SettingKind::text:
            return "text";
        case SettingKind::path:
            return "path";
        case SettingKind::url:
            return "url";
        case SettingKind::list:
            return "list";
        case SettingKind::flag:
            return "flag";
        case SettingKind::count:
            return "count";
        case SettingKind::duration:
            return "duration";
        case SettingKind::choice:
            return "choice";
        case SettingKind::decimal:
            return "decimal";
    }
    POSTROOM_ASSERT(!"a kind outside the enum");
    return {};
}

SinkConfigError::SinkConfigError(const std::string& sink, std::string setting,
                                 const std::string& what)
    : std::invalid_argument(setting.empty()
                                ? fmt::format("sink '{}': {}", sink, what)
                                : fmt::format("sink '{}': '{}' {}", sink, setting, what)),
      setting_(std::move(setting)) {}

SinkSettings::SinkSettings(const SinkConfig& config, std::span<const SinkSetting> described)
    : sink_(config.name) {
    refuse_unknown(config, described);
    for (const SinkSetting& setting : described) {
        const auto given = config.settings.find(setting.name);
        const bool is_given = given != config.settings.end();
        const std::string& text = is_given ? given->second : setting.default_value;
        if (setting.required && text.empty())
            throw SinkConfigError(sink_, setting.name, "must be given: " + setting.what);
        if (is_given) {
            const std::string fault = fault_of(setting, text);
            if (!fault.empty()) throw SinkConfigError(sink_, setting.name, fault);
        }
        values_.emplace(setting.name, Value{.kind = setting.kind, .text = text});
    }
}

const std::string& SinkSettings::value(std::string_view name, SettingKind kind) const {
    const auto found = values_.find(name);
    POSTROOM_ASSERT(found != values_.end() && found->second.kind == kind);
    return found->second.text;
}

const std::string& SinkSettings::text(std::string_view name) const {
    const auto found = values_.find(name);
    POSTROOM_ASSERT(found != values_.end());
    return found->second.text;
}

std::vector<std::string> SinkSettings::list(std::string_view name) const {
    return base::listed_words(value(name, SettingKind::list));
}

bool SinkSettings::flag(std::string_view name) const {
    return value(name, SettingKind::flag) == "true";
}

std::uint64_t SinkSettings::count(std::string_view name) const {
    return number_from(value(name, SettingKind::count)).value();
}

Duration SinkSettings::duration(std::string_view name) const {
    const std::uint64_t length = milliseconds_from(value(name, SettingKind::duration)).value();
    return milliseconds(static_cast<std::int64_t>(length));
}

void SinkSettings::refuse(std::string_view name, const std::string& why) const {
    throw SinkConfigError(sink_, std::string(name), why);
}

}  // namespace postroom
