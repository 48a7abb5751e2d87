#include "daemon/program_tracing.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace postroom::daemon {

std::optional<OtlpSettings> tracing_settings(std::vector<std::string>& warnings) {
    try {
        return otlp_settings();
    } catch (const std::invalid_argument& error) {
        warnings.push_back(fmt::format("no spans are sent: {}", error.what()));
        return std::nullopt;
    }
}

ProgramTracing::ProgramTracing(const std::optional<OtlpSettings>& settings, Log log) {
    if (!settings) return;
    OtlpOptions options = settings->options;
    options.log = std::move(log);
    exporter_.emplace(std::move(options));
    tracing_.emplace(*exporter_, TracingOptions{.sampler = settings->sampler});
}

Observer& ProgramTracing::observer() {
    if (tracing_) return *tracing_;
    return silence();
}

void ProgramTracing::close() {
    if (exporter_) exporter_->close();
}

}  // namespace postroom::daemon
