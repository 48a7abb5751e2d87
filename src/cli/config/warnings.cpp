#include "cli/config/warnings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "cli/config/settings.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

bool is_readable_by_all(const std::string& file) {
    struct stat status {};
    return ::stat(file.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0;
}

// Whether the secret itself stands there, and not a reference to it.
bool holds_secret(const Values& values, const GivenValue& given) {
    if (given.written != given.value || given.value.empty()) return false;
    const std::optional<Setting> setting = find_setting(given.key, sink_type_of(values, given.key));
    if (!setting) return false;
    return setting->secret || (setting->kind == SettingKind::url && has_secret(given.value));
}

}  // namespace

std::vector<std::string> warnings_about(const Gathered& gathered) {
    std::vector<std::string> warnings;
    for (const std::string& name : gathered.unknown_variables)
        warnings.push_back(fmt::format(
            "the environment has {}, which means nothing here; settings are named as in "
            "POSTROOM_RELAY__BATCH",
            printable(name)));
    if (gathered.file.empty() || !is_readable_by_all(gathered.file)) return warnings;
    std::vector<std::string> secrets;
    for (const auto& [key, given] : gathered.values) {
        if (given.origin.starts_with(gathered.file + ":") && holds_secret(gathered.values, given))
            secrets.push_back(key);
    }
    if (!secrets.empty())
        warnings.push_back(fmt::format(
            "everybody on this machine can read {}, which holds secrets ({}); take the right from "
            "others (chmod o-r), or refer to them as ${{env:NAME}} or ${{file:PATH}}",
            printable(gathered.file), fmt::join(secrets, ", ")));
    return warnings;
}

}  // namespace postroom::cli
