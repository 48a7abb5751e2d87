#include <fmt/format.h>

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

std::string command_section(const Leaf& leaf) {
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

}  // namespace

std::string man_page(const Command& root) {
    std::string out = fmt::format(
        ".TH POSTROOM 1\n.SH NAME\npostroom \\- {}\n.SH SYNOPSIS\n.B postroom\n\\fICOMMAND\\fR "
        "[options]\n.SH DESCRIPTION\n{}\n.SH COMMANDS\n",
        roff(root.summary), roff(root.details));
    for (const Leaf& leaf : leaves(root)) out += command_section(leaf);
    out += ".SH EXIT STATUS\n";
    for (const ExitCodeText& code : exit_codes)
        out += fmt::format(".TP\n{}\n{}\n", static_cast<int>(code.code), roff(code.what));
    out +=
        ".SH ENVIRONMENT\n.TP\nPOSTROOM_URL\nAddress of the store main.\n.TP\nPOSTROOM_CONFIG\n"
        "Config file.\n.TP\nPOSTROOM_GROUP__NAME__KEY\nAny setting.\n";
    return out;
}

}  // namespace postroom::cli
