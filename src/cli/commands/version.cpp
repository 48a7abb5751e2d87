#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/output/text.hpp"
#include "postroom/sink.hpp"

namespace postroom::cli {

namespace {

ExitCode run_version(const Invocation& in) {
    std::vector<std::string> sinks;
    for (const SinkType& type : sink_types()) sinks.push_back(type.name);
    if (in.json()) {
        JsonArray names;
        for (const std::string& sink : sinks) names.add(sink);
        print(JsonObject().add("version", POSTROOM_VERSION).add_json("sinks", names.text()).text() +
              "\n");
    } else {
        print(fmt::format("postroom {} (sinks: {})\n", POSTROOM_VERSION, fmt::join(sinks, ", ")));
    }
    return ExitCode::ok;
}

}  // namespace

Command version_command() {
    return {.name = "version",
            .summary = "Print the version and the sinks that are built in.",
            .prints = true,
            .reads_config = false,
            .run = &run_version};
}

}  // namespace postroom::cli
