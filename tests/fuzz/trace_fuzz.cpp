// The trace context of a message, whoever wrote it: a line of traceparent, and tracestate.
#include <algorithm>

#include "fuzz.hpp"
#include "postroom/tracing.hpp"

namespace postroom::fuzz {

namespace {

void check_context(const TraceContext& context) {
    require(context.trace_id.size() == 32 && context.span_id.size() == 16, "ids have their length");
    const std::optional<TraceContext> again =
        TraceContext::of({{"traceparent", context.traceparent()}});
    require(again && again->trace_id == context.trace_id && again->span_id == context.span_id &&
                again->sampled == context.sampled,
            "a trace context is read as it is written");
    static_cast<void>(Sampler{.ratio = 0.5, .parent_based = false}.samples(&context, {}));
}

}  // namespace

void run(std::string_view input) {
    const std::string_view parent = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(parent.size() + 1, input.size()));
    const std::optional<TraceContext> context = TraceContext::of(
        {{"traceparent", std::string(parent)}, {"tracestate", std::string(input)}});
    if (context) check_context(*context);
}

}  // namespace postroom::fuzz
