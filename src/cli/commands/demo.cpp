#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/commands/commands.hpp"
#include "cli/demo/story.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/text.hpp"
#include "cli/temporary_folder.hpp"
#include "postroom/sink.hpp"

namespace postroom::cli {

namespace {

std::string summary_json(const demo::Summary& summary) {
    return JsonObject()
               .add("placed", std::uint64_t{summary.placed})
               .add("rolled_back", std::uint64_t{summary.rolled_back})
               .add("delivered", std::uint64_t{summary.delivered})
               .add("duplicates_suppressed", std::uint64_t{summary.duplicates})
               .add("dead", std::uint64_t{summary.dead})
               .add("lost", std::uint64_t{summary.lost})
               .text() +
           "\n";
}

std::string summary_text(const demo::Summary& summary) {
    return fmt::format(
        "\nsummary\n"
        "  orders placed            {:5}\n"
        "  rolled back              {:5}   (nothing was sent)\n"
        "  delivered                {:5}   (each shipped once: {})\n"
        "  duplicates suppressed    {:5}   (by the receiver's inbox)\n"
        "  dead, with a reason      {:5}\n"
        "  lost                     {:5}\n",
        summary.placed, summary.rolled_back, summary.delivered, summary.each_once ? "yes" : "NO",
        summary.duplicates, summary.dead, summary.lost);
}

void tell_beside(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

void require_http() {
    const std::vector<SinkType> types = sink_types();
    if (std::ranges::find(types, "http", &SinkType::name) == types.end())
        throw Failure(ExitCode::failed, "the demo needs the sink http, which is not built in");
}

ExitCode run_demo(const Invocation& in) {
    require_http();
    const Interrupt interrupt;
    TemporaryFolder folder("demo");
    const demo::Stage stage{
        .folder = folder.path(),
        .program = std::filesystem::read_symlink("/proc/self/exe").string(),
        .tell = in.json() ? &tell_beside : &print,
        .show =
            [&in](const demo::Summary& summary) {
                print(in.json() ? summary_json(summary) : summary_text(summary));
            },
        .output = in.json() ? STDERR_FILENO : STDOUT_FILENO,
        .open = in.has("open")};
    try {
        if (demo::tell_story(stage, interrupt).good) return ExitCode::ok;
    } catch (const Failure&) {
        throw;
    } catch (const std::exception& error) {
        complain(error.what());
    }
    folder.keep();
    throw Failure(ExitCode::failed, fmt::format("the demo went wrong; its files and the relay's "
                                                "log are in {}",
                                                folder.path()));
}

}  // namespace

Command demo_command() {
    return {.name = "demo",
            .summary =
                "Show the first minute: a shop, the relay, an outage, a crash, a poison "
                "message.",
            .details =
                "A shop on SQLite places orders, a relay delivers them over HTTP, and a receiver "
                "ships each order once, whatever happens in between. Takes about ten seconds, on "
                "127.0.0.1 and in a temporary folder that is gone afterwards; config and databases "
                "of yours are not touched. With --json the story goes to standard error and the "
                "figures to standard output. With --open it says where the dashboard is, takes a "
                "minute, and keeps everything running until Ctrl-C.",
            .options = {{.name = "open", .what = "To be watched on the dashboard, until Ctrl-C."}},
            .examples = {"postroom demo", "postroom demo --open"},
            .prints = true,
            .reads_config = false,
            .run = &run_demo};
}

}  // namespace postroom::cli
