// OtlpExporter: sends spans to an OpenTelemetry collector, by OTLP over HTTP in JSON.
//
//   if (const std::optional<OtlpSettings> settings = otlp_settings()) {  // the variables OTEL_*
//       OtlpExporter exporter(settings->options);
//       TracingObserver tracing(exporter, {.sampler = settings->sampler});
//       ...
//   }
//
// Spans wait in a queue of bounded size for a thread that sends them in batches. Whoever gives a
// span never waits for the collector: where there is no room, the span is dropped and counted.
//
// The component postroom::otlp, which needs libcurl.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "postroom/tracing.hpp"

namespace postroom {

struct OtlpOptions {
    std::string url{};      // where spans are posted, such as http://127.0.0.1:4318/v1/traces
    Headers headers{};      // of each request. Never shown: they hold what authenticates us
    Headers resource{};     // attributes of whoever makes the spans; service.name: else "postroom"
    std::string ca_file{};  // certificates to trust; empty: those of the system
    Duration timeout = std::chrono::seconds{10};     // of a request
    Duration batch_delay = std::chrono::seconds{5};  // how long a span waits for others
    std::size_t batch_max = 512;
    std::size_t queue_max = 2048;
    // A batch that the collector cannot take now is sent so often before it is dropped, with pauses
    // that double.
    std::uint32_t attempts_max = 5;
    Duration retry_pause = std::chrono::seconds{1};
    Duration close_timeout = std::chrono::seconds{2};  // for what is left when it is closed
    // Takes lines about a collector that fails, one a minute at most, and one when it is back.
    std::function<void(LogLevel, std::string_view)> log = &log_to_stderr;
};

struct OtlpFigures {
    std::uint64_t sent = 0;     // spans that the collector has taken
    std::uint64_t dropped = 0;  // and those that nobody will see
};

class OtlpExporter final : public SpanExporter {
public:
    // Throws std::invalid_argument for a `url` that is no URL of http or https, for headers that
    // HTTP does not take and for limits of zero.
    explicit OtlpExporter(OtlpOptions options);
    ~OtlpExporter() override;

    void take(Span span) noexcept override;

    // Sends what is there within `close_timeout` (and a second, where a request is under way), and
    // drops the rest. Spans that come later are dropped. Closing again does nothing.
    void close() noexcept;

    OtlpFigures figures() const;

private:
    class Parts;
    const std::unique_ptr<Parts> parts_;
};

struct OtlpSettings {
    OtlpOptions options{};
    Sampler sampler{};
};

// What the environment variables of OpenTelemetry ask for; docs/guides/observing.md lists those
// that count. nullopt: no spans, as without OTEL_EXPORTER_OTLP_ENDPOINT. Throws
// std::invalid_argument that names the variable, but not a value that may be secret.
std::optional<OtlpSettings> otlp_settings(
    const std::function<const char*(const char* name)>& variable = {});

}  // namespace postroom
