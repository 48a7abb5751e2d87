#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/hex.hpp"
#include "otlp/collector.hpp"
#include "postroom/otlp.hpp"

namespace postroom {

namespace {

constexpr std::size_t spans_max = 1'000'000;
constexpr std::size_t milliseconds_max = 3'600'000;

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const std::optional<std::string> byte =
            i + 2 < text.size() ? base::hex_decode(text.substr(i + 1, 2)) : std::nullopt;
        if (!byte) return std::nullopt;
        out += *byte;
        i += 2;
    }
    return out;
}

// OtelVariables: variables by their names; an empty one is as good as none.
class OtelVariables {
public:
    using Lookup = std::function<const char*(const char*)>;
    using Names = std::initializer_list<const char*>;
    explicit OtelVariables(const Lookup& lookup) : lookup_(lookup) {}

    // That of the first of `names` that has one.
    std::string text(Names names) {
        std::string value;
        for (const char* const name : names)
            if (!(value = read(name)).empty()) break;
        return value;
    }
    // name=value,name=value with %XX for what would be misunderstood.
    Headers list(Names names) {
        Headers out;
        const std::string given = text(names);
        for (std::string_view rest = given; !rest.empty();) {
            const std::string_view item = rest.substr(0, rest.find(','));
            rest.remove_prefix(std::min(item.size() + 1, rest.size()));
            if (trimmed(item).empty()) continue;
            const std::size_t equals = item.find('=');
            const auto key = percent_decoded(trimmed(item.substr(0, equals)));
            const auto value = percent_decoded(
                equals == std::string_view::npos ? "" : trimmed(item.substr(equals + 1)));
            if (equals == std::string_view::npos || !key || key->empty() || !value)
                throw refusal("needs name=value,name=value");
            out[*key] = *value;
        }
        return out;
    }
    // From 1 to `max`; unchanged where there is none.
    void read_number(std::size_t& number, std::size_t max, Names names) {
        const std::string given = text(names);
        if (given.empty()) return;
        const auto [end, fault] =
            std::from_chars(given.data(), given.data() + given.size(), number);
        if (fault != std::errc{} || end != given.data() + given.size() || number == 0 ||
            number > max)
            throw refusal(fmt::format("needs a whole number from 1 to {}", max));
    }
    // In milliseconds.
    void read_duration(Duration& duration, Names names) {
        std::size_t count = 0;
        read_number(count, milliseconds_max, names);
        if (count > 0) duration = std::chrono::milliseconds{static_cast<std::int64_t>(count)};
    }
    // Of the variable that was read last.
    std::invalid_argument refusal(std::string_view why) const {
        return std::invalid_argument(fmt::format("{}: {}", last_, why));
    }

private:
    std::string read(const char* name) {
        last_ = name;
        const char* const value = lookup_ ? lookup_(name) : std::getenv(name);
        return value == nullptr ? "" : std::string(trimmed(value));
    }

    const Lookup& lookup_;
    const char* last_ = "";
};

bool is_switched_off(OtelVariables& variables) {
    std::string disabled = variables.text({"OTEL_SDK_DISABLED"});
    for (char& c : disabled) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    if (disabled == "true") return true;
    return variables.text({"OTEL_TRACES_EXPORTER"}) == "none";
}

std::string url_from(OtelVariables& variables) {
    try {
        if (const std::string url = variables.text({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"});
            !url.empty())
            return otlp::checked_url(url);
        const std::string base = variables.text({"OTEL_EXPORTER_OTLP_ENDPOINT"});
        return base.empty() ? "" : otlp::checked_url(base, "/v1/traces");
    } catch (const std::invalid_argument& error) {
        throw variables.refusal(error.what());
    }
}

Headers headers_from(OtelVariables& variables) {
    Headers headers =
        variables.list({"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"});
    try {
        otlp::check_headers(headers);
    } catch (const std::invalid_argument& error) {
        throw variables.refusal(error.what());
    }
    return headers;
}

Sampler sampler_from(OtelVariables& variables) {
    static constexpr std::array<std::pair<std::string_view, Sampler>, 7> samplers{{
        {"", {}},
        {"always_on", {.ratio = 1, .parent_based = false}},
        {"always_off", {.ratio = 0, .parent_based = false}},
        {"traceidratio", {.ratio = -1, .parent_based = false}},
        {"parentbased_always_on", {}},
        {"parentbased_always_off", {.ratio = 0}},
        {"parentbased_traceidratio", {.ratio = -1}},
    }};
    const std::string name = variables.text({"OTEL_TRACES_SAMPLER"});
    for (const auto& [known, means] : samplers) {
        if (name != known) continue;
        Sampler sampler = means;
        if (sampler.ratio >= 0) return sampler;
        const std::string ratio = variables.text({"OTEL_TRACES_SAMPLER_ARG"});
        const char* const end = ratio.data() + ratio.size();
        const auto parsed = std::from_chars(ratio.data(), end, sampler.ratio);
        if (ratio.empty()) sampler.ratio = 1;
        const bool whole = ratio.empty() || (parsed.ec == std::errc{} && parsed.ptr == end);
        if (!whole || !(sampler.ratio >= 0 && sampler.ratio <= 1))
            throw variables.refusal("needs a number from 0 to 1");
        return sampler;
    }
    throw variables.refusal(
        "needs always_on, always_off, traceidratio, or one of these with parentbased_ before it");
}

void check_protocol(OtelVariables& variables) {
    const std::string exporter = variables.text({"OTEL_TRACES_EXPORTER"});
    if (!exporter.empty() && exporter != "otlp") throw variables.refusal("needs otlp or none");
    const std::string protocol =
        variables.text({"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"});
    // A collector takes both forms of HTTP at the same address.
    if (!protocol.empty() && protocol != "http/json" && protocol != "http/protobuf")
        throw variables.refusal("spans are sent as http/json; it is the only protocol there is");
}

}  // namespace

std::optional<OtlpSettings> otlp_settings(
    const std::function<const char*(const char* name)>& variable) {
    OtelVariables variables(variable);
    if (is_switched_off(variables)) return std::nullopt;
    OtlpSettings out;
    OtlpOptions& options = out.options;
    options.url = url_from(variables);
    if (options.url.empty()) return std::nullopt;
    check_protocol(variables);
    options.headers = headers_from(variables);
    options.ca_file =
        variables.text({"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"});
    options.resource = variables.list({"OTEL_RESOURCE_ATTRIBUTES"});
    if (const std::string name = variables.text({"OTEL_SERVICE_NAME"}); !name.empty())
        options.resource["service.name"] = name;
    variables.read_duration(options.timeout,
                            {"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"});
    variables.read_duration(options.batch_delay, {"OTEL_BSP_SCHEDULE_DELAY"});
    variables.read_number(options.batch_max, spans_max, {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE"});
    variables.read_number(options.queue_max, spans_max, {"OTEL_BSP_MAX_QUEUE_SIZE"});
    out.sampler = sampler_from(variables);
    return out;
}

}  // namespace postroom
