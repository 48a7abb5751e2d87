#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/config/config.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/text.hpp"
#include "cli/remote/api_client.hpp"
#include "cli/remote/remote_values.hpp"

namespace postroom::cli {

namespace {

// Where the relay of this configuration serves; from this machine.
std::string configured_url(const Invocation& in) {
    const std::string listen = load_config(in).plan.admin.listen;
    if (listen.empty())
        throw Failure(ExitCode::config,
                      "admin.listen is empty: the relay has no health to ask for");
    const std::size_t colon = listen.rfind(':');
    const std::string host = listen.substr(0, colon);
    const bool any = host == "0.0.0.0" || host == "[::]";
    return fmt::format("http://{}{}", any ? "127.0.0.1" : host, listen.substr(colon));
}

// "outbox: 3 messages wait", with where and how bad it is before it. What is no object of checks is
// told as it is.
std::string health_text(const std::string& body) {
    std::string text;
    try {
        const JsonValues health(body);
        text = printable(health.text("status")) + "\n";
        if (health.has("checks"))
            for (const JsonValues& check : health.objects("checks"))
                text += fmt::format(
                    "{:<9}  {}{}{}: {}\n", printable(check.text("status")),
                    printable(check.text("check")), check.has("store") ? " of " : "",
                    printable(check.text("store")), printable(one_line(check.text("what"))));
    } catch (const std::exception&) {
        return printable(body) + "\n";
    }
    return text;
}

const char* path_of(const Invocation& in) {
    if (in.has("live")) return "/livez";
    return in.has("ready") ? "/readyz" : "/health";
}

ExitCode run_healthcheck(const Invocation& in) {
    if (in.has("live") && in.has("ready"))
        throw Failure(ExitCode::usage, "healthcheck takes --live or --ready, not both");
    const ApiClient client(in.arguments().empty() ? configured_url(in) : in.argument(0));
    client.warn_of_plain_text();
    const ApiAnswer answer = client.get(path_of(in));
    const bool one_word = in.has("live") || in.has("ready");
    const std::string told = answer.body.substr(0, answer.body.find_last_not_of('\n') + 1);
    if (in.json()) {
        print((one_word ? JsonObject().add("status", told).text() : told) + "\n");
    } else {
        print(one_word ? printable(told) + "\n" : health_text(told));
    }
    return answer.status == 200 ? ExitCode::ok : ExitCode::failed;
}

}  // namespace

Command healthcheck_command() {
    return {
        .name = "healthcheck",
        .summary = "Ask a running relay whether it is well: for containers.",
        .details =
            "Ends with 0 when the relay says ok or degraded, with 1 when it says unhealthy, and "
            "with 3 when nobody answers. Without a URL it asks where the relay of this "
            "configuration serves (admin.listen). A token is taken from POSTROOM_TOKEN; "
            "without one only the word is told.",
        .arguments = {{.name = "URL",
                       .what = "Of the relay's server, such as http://127.0.0.1:8025.",
                       .required = false}},
        .options = {{.name = "ready",
                     .what = "Only whether its stores answer, not whether the queues flow."},
                    {.name = "live", .what = "Only whether the process answers at all."}},
        .examples = {"postroom healthcheck", "postroom healthcheck --ready"},
        .prints = true,
        .run = &run_healthcheck};
}

}  // namespace postroom::cli
