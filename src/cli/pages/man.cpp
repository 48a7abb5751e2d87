#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/config/settings.hpp"
#include "cli/pages/pages.hpp"

namespace postroom::cli {

namespace {

// A backslash, a dash and a dot at the beginning of a line mean something to roff.
std::string roff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
            out += "\\&";
            out += c;
        } else {
            out += c;
        }
    }
    return out;
}

std::string option_entries(const Command& command) {
    std::string out;
    for (const Option& option : command.options) {
        out += fmt::format(".TP\n\\fB\\-\\-{}\\fR{}\n{}\n", roff(option.name),
                           option.value.empty() ? "" : " \\fI" + roff(option.value) + "\\fR",
                           roff(option.what));
    }
    return out;
}

std::string roff_section(const Leaf& leaf) {
    const Command& command = *leaf.command;
    std::string out =
        fmt::format(".SS {}\n{}\n", roff(usage_line(command, leaf.path)), roff(command.summary));
    if (!command.details.empty()) out += fmt::format(".PP\n{}\n", roff(command.details));
    for (const Argument& argument : command.arguments)
        out += fmt::format(".TP\n\\fI{}\\fR\n{}\n", roff(argument.name), roff(argument.what));
    out += option_entries(command);
    for (const std::string& example : command.examples)
        out += fmt::format(".PP\n.nf\n    {}\n.fi\n", roff(example));
    return out;
}

std::string setting_entry(const std::string& key, const Setting& setting) {
    std::string what = setting.what;
    if (!setting.choices.empty())
        what += fmt::format(" One of {}.", fmt::join(setting.choices, ", "));
    if (!setting.default_value.empty())
        what += fmt::format(" The default is {}.", setting.default_value);
    if (setting.secret) what += " Secret.";
    return fmt::format(".TP\n\\fB{}\\fR (\\fI{}\\fR)\n{}\n", roff(key), to_string(setting.kind),
                       roff(what));
}

}  // namespace

std::string man_page(const Command& root) {
    std::string out = fmt::format(
        ".TH POSTROOM 1\n.SH NAME\npostroom \\- {}\n.SH SYNOPSIS\n.B postroom\n\\fICOMMAND\\fR "
        "[options]\n.SH DESCRIPTION\n{}\n.SH COMMANDS\n",
        roff(root.summary), roff(root.details));
    for (const Leaf& leaf : leaves(root)) out += roff_section(leaf);
    out += ".SH EXIT STATUS\n";
    for (const ExitCodeText& code : exit_codes)
        out += fmt::format(".TP\n{}\n{}\n", static_cast<int>(code.code), roff(code.what));
    out +=
        ".SH ENVIRONMENT\n.TP\nPOSTROOM_URL\nAddress of the store main. To another machine TLS is "
        "on and verified; ?sslmode= and "
        "?sslrootcert= (PostgreSQL), ?ssl\\-mode= and ?ssl\\-ca= (MariaDB and MySQL) behind it say "
        "otherwise.\n.TP\nPOSTROOM_CONFIG\n"
        "Config file.\n.TP\nPOSTROOM_GROUP__NAME__KEY\nAny setting.\n.TP\n"
        "OTEL_EXPORTER_OTLP_ENDPOINT\nAn OpenTelemetry collector that is sent spans, by relay and "
        "enqueue; other variables OTEL_* say how. Not there: no spans.\n"
        ".SH SEE ALSO\n.BR postroom.toml (5)\n";
    return out;
}

std::string config_man_page() {
    std::string out =
        ".TH POSTROOM.TOML 5\n.SH NAME\npostroom.toml \\- the settings of postroom\n"
        ".SH DESCRIPTION\nFlags win over the environment, that over this file, that over the "
        "defaults. In a value ${env:NAME} and ${file:PATH} stand for a variable and for the "
        "content of a file. An unknown key is an error; \\fBpostroom config check\\fR checks, "
        "\\fBpostroom config show\\fR says where each value comes from.\n.SH SETTINGS\n";
    for (const Setting& setting : program_settings())
        out += setting_entry(placeholder_key(setting.name), setting);
    for (const SinkType& type : sink_types()) {
        out += fmt::format(".SH SINKS OF TYPE {}\n{}\n", roff(type.name), roff(type.what));
        for (const SinkSetting& setting : type.settings)
            out += setting_entry("sinks.NAME." + setting.name, setting);
    }
    return out + ".SH SEE ALSO\n.BR postroom (1)\n";
}

}  // namespace postroom::cli
