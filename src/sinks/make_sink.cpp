#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.hpp"
#include "postroom/sink.hpp"
#include "sink_table.hpp"

namespace postroom {

namespace {

constexpr std::string_view mask = "***";

[[noreturn]] void refuse_type(const SinkConfig& config, std::span<const SinkType> types) {
    std::vector<std::string> names;
    for (const SinkType& type : types) names.push_back(type.name);
    const std::optional<std::string> meant = base::nearest(config.type, names);
    const std::string hint = meant ? fmt::format("; did you mean '{}'?", *meant) : "";
    throw SinkConfigError(
        config.name, "",
        fmt::format("unknown type '{}'{} (known: {})", config.type, hint, fmt::join(names, ", ")));
}

// Only scheme and host are harmless: paths and queries of webhooks are often the secret itself, and
// a password may hold any character, unescaped.
std::string masked_url(std::string_view url) {
    const std::size_t scheme = url.find("://");
    if (scheme == std::string_view::npos) return std::string(mask);
    const std::size_t begin = scheme + 3;
    const std::size_t at = url.rfind('@');
    const bool has_user = at != std::string_view::npos && at >= begin;
    const std::string_view rest = url.substr(has_user ? at + 1 : begin);
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    return fmt::format("{}{}{}{}", url.substr(0, begin), has_user ? "***@" : "",
                       rest.substr(0, end), rest.size() > end + 1 ? "/***" : rest.substr(end));
}

}  // namespace

std::vector<SinkType> sink_types() {
    std::vector<SinkType> types;
    for (const auto& type : sinks::sink_table) types.push_back(type());
    std::ranges::sort(types, {}, &SinkType::name);
    return types;
}

std::unique_ptr<Sink> make_sink(const SinkConfig& config) {
    return make_sink(config, sink_types());
}

std::unique_ptr<Sink> make_sink(const SinkConfig& config, std::span<const SinkType> types) {
    const auto type = std::ranges::find(types, config.type, &SinkType::name);
    if (type == types.end()) refuse_type(config, types);
    return type->make(SinkSettings(config, type->settings));
}

std::string masked(const SinkSetting& setting, std::string_view value) {
    if (value.empty()) return {};
    if (setting.secret) return std::string(mask);
    return setting.kind == SettingKind::url ? masked_url(value) : std::string(value);
}

BatchHandler handler_of(std::shared_ptr<Sink> sink) {
    if (sink == nullptr) throw std::invalid_argument("sink: must not be null");
    return [sink = std::move(sink)](std::span<const Message> messages, HandlerContext& context) {
        return sink->send(messages, context.stop());
    };
}

}  // namespace postroom
