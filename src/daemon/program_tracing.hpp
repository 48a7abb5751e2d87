// ProgramTracing: the spans of this program, where its environment asks for them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/otlp.hpp"

namespace postroom::daemon {

// nullopt: no spans. What is wrong with the variables becomes a warning: others may have put them
// there for all programs, and messages are to be delivered all the same.
std::optional<OtlpSettings> tracing_settings(std::vector<std::string>& warnings);

// Thread safety: one thread; its observer as every Observer.
class ProgramTracing {
public:
    using Log = std::function<void(LogLevel, std::string_view)>;
    ProgramTracing(const std::optional<OtlpSettings>& settings, Log log);

    // silence() without spans.
    Observer& observer();
    // For OutboxOptions: nullptr without spans.
    const TracingObserver* stamps() const { return tracing_ ? &*tracing_ : nullptr; }

    void close();

private:
    std::optional<OtlpExporter> exporter_;
    std::optional<TracingObserver> tracing_;
};

}  // namespace postroom::daemon
