#include "cli/config/config.hpp"

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/config/settings.hpp"
#include "cli/output/json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

ExitCode check(const Invocation& in) {
    const Config config = load_config(in);
    check_sinks(config);
    if (in.json()) {
        print(JsonObject()
                  .add("file", config.file)
                  .add("stores", std::uint64_t{config.plan.stores.size()})
                  .add("sinks", std::uint64_t{config.plan.sinks.size()})
                  .add("routes", std::uint64_t{config.plan.routes.size()})
                  .text() +
              "\n");
        return ExitCode::ok;
    }
    print(fmt::format(
        "{}: ok, {}, {}, {}\n", config.file.empty() ? "no config file" : printable(config.file),
        counted(config.plan.stores.size(), "store"), counted(config.plan.sinks.size(), "sink"),
        counted(config.plan.routes.size(), "route")));
    return ExitCode::ok;
}

std::string type_of(const Config& config, const std::string& key) {
    const std::vector<std::string> parts = split_key(key);
    const auto at =
        config.values.find(fmt::format("sinks.{}.type", parts.size() > 1 ? parts[1] : ""));
    return at == config.values.end() ? "" : at->second.value;
}

ExitCode show(const Invocation& in) {
    const Config config = load_config(in);
    Table table({"KEY", "VALUE", "ORIGIN"});
    JsonArray array;
    for (const auto& [key, given] : config.values) {
        if (in.has("changed") && given.origin == "default") continue;
        // As written: a reference to a secret says more than three stars, and less than the secret.
        const std::string value =
            shown_value(find_setting(key, type_of(config, key)).value(), given.written);
        table.add({key, value, given.origin});
        array.add_json(
            JsonObject().add("key", key).add("value", value).add("origin", given.origin).text());
    }
    print(in.json() ? array.text() + "\n" : table.text(layout_for(in)));
    return ExitCode::ok;
}

}  // namespace

Command config_command() {
    Command checking{.name = "check",
                     .summary = "Check the config file, the environment and the flags.",
                     .details =
                         "Connects to nothing. Exit code 5 and one line that names the file "
                         "and the line when something is wrong.",
                     .examples = {"postroom config check --config /etc/postroom.toml"},
                     .prints = true,
                     .run = &check};
    Command showing{.name = "show",
                    .summary = "Show every setting in force and where it comes from.",
                    .details =
                        "Secrets are masked: of a URL the user, the password and the "
                        "parameters.",
                    .options = {{.name = "changed", .what = "Leave out what is at its default."}},
                    .prints = true,
                    .tabulates = true,
                    .run = &show};
    return {.name = "config",
            .summary = "Check and show the configuration.",
            .commands = {std::move(checking), std::move(showing)}};
}

}  // namespace postroom::cli
