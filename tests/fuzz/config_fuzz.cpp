// A config file: TOML, and the texts of its values.
#include <vector>

#include "cli/config/sources.hpp"
#include "cli/failure.hpp"
#include "fuzz.hpp"
#include "postroom/sink.hpp"

namespace postroom::fuzz {

namespace {

// One setting of each kind that a text is read as.
std::vector<SinkSetting> settings_of_all_kinds() {
    return {{.name = "text"},
            {.name = "list", .kind = SettingKind::list},
            {.name = "flag", .kind = SettingKind::flag},
            {.name = "count", .kind = SettingKind::count, .most = 1000},
            {.name = "duration", .kind = SettingKind::duration, .least = 1, .most = 600'000},
            {.name = "choice", .kind = SettingKind::choice, .choices = {"one", "two"}},
            {.name = "decimal", .kind = SettingKind::decimal, .least = 1, .most = 10}};
}

void read_as_every_kind(const std::string& value) {
    static const std::vector<SinkSetting> described = settings_of_all_kinds();
    for (const SinkSetting& setting : described) {
        takes<SinkConfigError>([&] {
            const SinkSettings settings(
                {.name = "fuzz", .type = "fuzz", .settings = {{setting.name, value}}}, described);
            if (setting.kind == SettingKind::count)
                require(settings.count("count") <= setting.most, "a count is within its limits");
            if (setting.kind == SettingKind::list) settings.list("list");
            if (setting.kind == SettingKind::duration)
                require(settings.duration("duration") <= std::chrono::minutes{10},
                        "a duration is within its limits");
        });
    }
}

}  // namespace

void run(std::string_view input) {
    // The files that a config names are the user's choice; a fuzzer's would be devices.
    if (input.find("{file:") != std::string_view::npos) return;
    takes<cli::Failure>([&] {
        for (const cli::GivenValue& given : cli::read_toml(input, "fuzz.toml")) {
            require(!given.key.empty(), "a value has a key");
            read_as_every_kind(given.value);
        }
    });
}

}  // namespace postroom::fuzz
