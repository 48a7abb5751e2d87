// Spans as OTLP writes them in JSON: an ExportTraceServiceRequest.
#pragma once

#include <span>
#include <string>

#include "postroom/tracing.hpp"

namespace postroom::otlp {

// `resource`: the attributes of whoever made the spans.
std::string spans_json(const Headers& resource, std::span<const Span> spans);

}  // namespace postroom::otlp
