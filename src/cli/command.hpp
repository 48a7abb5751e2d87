// Command: one node of the command tree, as data.
//
// The tree is the only description of the command line. Parsing, help, completion, the man page and
// the reference page are all read off it, so none of them can tell another story.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/exit_code.hpp"

namespace postroom::cli {

struct Option {
    std::string name;     // without the dashes
    std::string value{};  // what to call its value; empty: the option takes none
    std::string what{};
    char letter = 0;       // a short form; 0: none
    bool repeats = false;  // may be given more than once
    std::vector<std::string> choices{};
};

struct Argument {
    std::string name;
    std::string what{};
    bool required = true;
    bool repeats = false;  // the last one only
    std::vector<std::string> choices{};
};

class Invocation;

struct Command {
    std::string name;
    std::string summary{};  // one line
    std::string details{};  // paragraphs for help and reference
    std::vector<Argument> arguments{};
    std::string surplus{};  // what is said about more arguments than these, besides how many
    std::vector<Option> options{};
    std::vector<std::string> examples{};
    bool prints = false;              // has --json
    bool tabulates = false;           // has --wide
    bool changes = false;             // has --dry-run
    bool reads_config = true;         // has --config, --url, --store and --set
    bool reaches_relays = false;      // has --remote
    bool keeps_log = false;           // standard error is a log, with lines of its form only
    bool hidden = false;              // for our own tools: in no help and no page
    std::vector<Command> commands{};  // a group; then there is no `run`
    std::function<ExitCode(const Invocation&)> run{};
};

// What the user typed, checked against the tree.
class Invocation {
public:
    Invocation(const Command& command, std::string path)
        : command_(&command), path_(std::move(path)) {}

    const Command& command() const { return *command_; }
    // "migrate up"
    const std::string& path() const { return path_; }

    bool has(std::string_view option) const { return options_.find(option) != options_.end(); }
    // The last one given; `otherwise` when there is none.
    std::string value(std::string_view option, std::string_view otherwise = {}) const;
    std::vector<std::string> values(std::string_view option) const;
    const std::vector<std::string>& arguments() const { return arguments_; }
    std::string argument(std::size_t index, std::string_view otherwise = {}) const;

    bool json() const { return has("json"); }
    bool dry_run() const { return has("dry-run"); }

    void add_option(const std::string& name, std::string value) {
        options_[name].push_back(std::move(value));
    }
    void add_argument(std::string value) { arguments_.push_back(std::move(value)); }

private:
    const Command* command_;
    std::string path_;
    std::map<std::string, std::vector<std::string>, std::less<>> options_;
    std::vector<std::string> arguments_;
};

}  // namespace postroom::cli
