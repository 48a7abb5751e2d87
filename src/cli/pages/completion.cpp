// Completion scripts. They hold the whole tree as text, so that a shell starts no program to
// complete a word.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/pages/pages.hpp"

namespace postroom::cli {

namespace {

std::vector<std::string> visible(const Command& command) {
    std::vector<std::string> names;
    for (const Command& inner : command.commands)
        if (!inner.hidden) names.push_back(inner.name);
    return names;
}

std::vector<std::string> option_words(const Command& command) {
    std::vector<std::string> words;
    for (const Option& option : command.options) words.push_back("--" + option.name);
    return words;
}

bool takes_file(const Option& option) { return option.value == "FILE"; }

// Every node of the tree, groups included.
struct Node {
    const Command* command;
    std::string path;
};

void collect(const Command& command, const std::string& path, std::vector<Node>& out) {
    out.push_back({&command, path});
    for (const Command& inner : command.commands) {
        if (!inner.hidden) collect(inner, path.empty() ? inner.name : path + " " + inner.name, out);
    }
}

std::vector<Node> nodes(const Command& root) {
    std::vector<Node> out;
    collect(root, "", out);
    return out;
}

// What may follow the words of a node.
std::vector<std::string> next_words(const Command& command) {
    std::vector<std::string> words = visible(command);
    for (const std::string& word : option_words(command)) words.push_back(word);
    for (const Argument& argument : command.arguments)
        words.insert(words.end(), argument.choices.begin(), argument.choices.end());
    return words;
}

// The values of options that have choices, and those that are files, for the shells that share
// bash's way of completing.
std::string bash_value_cases(const Command& root) {
    std::string out;
    for (const Node& node : nodes(root)) {
        for (const Option& option : node.command->options) {
            if (!option.choices.empty()) {
                out += fmt::format(
                    "        '{} --{}') COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n",
                    node.path, option.name, fmt::join(option.choices, " "));
            } else if (takes_file(option)) {
                out += fmt::format(
                    "        '{} --{}') COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n",
                    node.path, option.name);
            } else if (!option.value.empty()) {
                out += fmt::format("        '{} --{}') return ;;\n", node.path, option.name);
            }
        }
    }
    return out;
}

std::string bash_text(const Command& root) {
    std::string known;
    std::string next;
    for (const Node& node : nodes(root)) {
        if (!node.path.empty()) known += fmt::format("{}'{}'", known.empty() ? "" : "|", node.path);
        next += fmt::format("        '{}') words='{}' ;;\n", node.path,
                            fmt::join(next_words(*node.command), " "));
    }
    return fmt::format(R"(# bash completion of postroom: source it, or put it into
# /usr/share/bash-completion/completions/postroom
_postroom() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
    local path='' words='' candidate word i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        candidate="${{path:+$path }}$word"
        case $candidate in
        {}) path=$candidate ;;
        esac
    done
    COMPREPLY=()
    case "$path $prev" in
{}    esac
    case $path in
{}    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -F _postroom postroom
)",
                       known, bash_value_cases(root), next);
}

std::string zsh_text(const Command& root) {
    return "#compdef postroom\n"
           "# zsh completion of postroom: as _postroom in a folder of $fpath, or sourced.\n"
           "autoload -U +X bashcompinit && bashcompinit\n" +
           bash_text(root);
}

std::string fish_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + "'";
}

// "; and" of all words that lead to a node, and none of the next ones.
std::string fish_condition(const Node& node) {
    std::string condition;
    std::size_t begin = 0;
    while (begin < node.path.size()) {
        const std::size_t end = std::min(node.path.find(' ', begin), node.path.size());
        condition +=
            fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ",
                        node.path.substr(begin, end - begin));
        begin = end + 1;
    }
    const std::vector<std::string> inner = visible(*node.command);
    if (!inner.empty()) {
        condition += fmt::format("{}not __fish_seen_subcommand_from {}",
                                 condition.empty() ? "" : "; and ", fmt::join(inner, " "));
    }
    return condition;
}

std::string fish_text(const Command& root) {
    std::string out =
        "# fish completion of postroom: ~/.config/fish/completions/postroom.fish\n"
        "complete -c postroom -f\n";
    for (const Node& node : nodes(root)) {
        const std::string head =
            fmt::format("complete -c postroom -n {}", fish_quoted(fish_condition(node)));
        for (const Command& inner : node.command->commands) {
            if (inner.hidden) continue;
            out += fmt::format("{} -a {} -d {}\n", head, inner.name, fish_quoted(inner.summary));
        }
        for (const Option& option : node.command->options) {
            out += fmt::format(
                "{} -l {}{}{}{} -d {}\n", head, option.name, option.value.empty() ? "" : " -x",
                takes_file(option) ? " -a '(__fish_complete_path)'" : "",
                option.choices.empty() ? ""
                                       : fmt::format(" -a '{}'", fmt::join(option.choices, " ")),
                fish_quoted(option.what));
        }
        for (const Argument& argument : node.command->arguments) {
            if (!argument.choices.empty())
                out += fmt::format("{} -a '{}'\n", head, fmt::join(argument.choices, " "));
        }
    }
    return out;
}

}  // namespace

std::string completion_text(const Command& root, const std::string& shell) {
    if (shell == "zsh") return zsh_text(root);
    if (shell == "fish") return fish_text(root);
    return bash_text(root);
}

}  // namespace postroom::cli
