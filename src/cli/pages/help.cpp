#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/output/wrap.hpp"
#include "cli/pages/pages.hpp"

namespace postroom::cli {

namespace {

constexpr std::size_t width = 79;

std::string option_head(const Option& option) {
    return fmt::format("{}--{}{}{}", option.letter != 0 ? fmt::format("-{}, ", option.letter) : "",
                       option.name, option.value.empty() ? "" : " ", option.value);
}

struct Row {
    std::string head;
    std::string what;
};

std::string section(std::string_view title, const std::vector<Row>& rows) {
    if (rows.empty()) return "";
    std::size_t head = 0;
    for (const Row& row : rows) head = std::max(head, row.head.size());
    head = std::min<std::size_t>(head, 26);
    std::string out = fmt::format("\n{}:\n", title);
    for (const Row& row : rows) {
        out += fmt::format("  {:<{}}", row.head, head);
        if (row.head.size() > head) out += '\n' + std::string(head + 2, ' ');
        out += "  " + wrapped(row.what, head + 4, width) + '\n';
    }
    return out;
}

std::string exit_code_section() {
    std::vector<Row> rows;
    for (const ExitCodeText& code : exit_codes)
        rows.push_back({fmt::format("{}", static_cast<int>(code.code)), std::string(code.what)});
    return section("Exit codes", rows);
}

}  // namespace

std::string usage_line(const Command& command, const std::string& path) {
    std::string line = "postroom" + (path.empty() ? "" : " " + path);
    if (!command.commands.empty()) return line + " COMMAND";
    if (!command.options.empty()) line += " [options]";
    for (const Argument& argument : command.arguments) {
        const std::string name = argument.name + (argument.repeats ? "..." : "");
        line += argument.required ? " " + name : " [" + name + "]";
    }
    return line;
}

std::string help_text(const Command& command, const std::string& path) {
    std::string out =
        "Usage: " + usage_line(command, path) + "\n\n" + wrapped(command.summary, 0, width);
    if (!command.details.empty()) out += "\n\n" + wrapped(command.details, 0, width);
    out += '\n';
    std::vector<Row> commands;
    for (const Command& inner : command.commands)
        if (!inner.hidden) commands.push_back({inner.name, inner.summary});
    out += section("Commands", commands);
    std::vector<Row> arguments;
    for (const Argument& argument : command.arguments)
        arguments.push_back({argument.name, argument.what});
    out += section("Arguments", arguments);
    std::vector<Row> options;
    for (const Option& option : command.options)
        options.push_back({option_head(option), option.what});
    out += section("Options", options);
    if (!command.examples.empty())
        out += fmt::format("\nExamples:\n  {}\n", fmt::join(command.examples, "\n  "));
    if (path.empty()) out += exit_code_section();
    return out;
}

std::string errors_text() {
    std::vector<Row> rows;
    for (const ErrorEntry& entry : error_catalogue())
        rows.push_back({std::string(entry.code), std::string(entry.cause)});
    return "Usage: postroom help errors CODE\n" + section("Errors", rows);
}

std::string error_text(const ErrorEntry& entry) {
    return fmt::format("{}, exit code {}\n\n{}\n{}\n", entry.code, static_cast<int>(entry.exit),
                       wrapped(entry.cause, 0, width), wrapped(entry.advice, 0, width));
}

std::vector<Leaf> leaves(const Command& root, const std::string& path) {
    std::vector<Leaf> out;
    for (const Command& command : root.commands) {
        if (command.hidden) continue;
        const std::string inner = path.empty() ? command.name : path + " " + command.name;
        if (command.run) out.push_back({&command, inner});
        for (Leaf& leaf : leaves(command, inner)) out.push_back(std::move(leaf));
    }
    return out;
}

}  // namespace postroom::cli
