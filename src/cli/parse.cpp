#include "cli/parse.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "cli/failure.hpp"
#include "cli/nearest.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
    throw Failure(ExitCode::usage, continued(what, fmt::format("see 'postroom{}{} --help'",
                                                               path.empty() ? "" : " ", path)));
}

std::vector<std::string> names_of(const std::vector<Command>& commands) {
    std::vector<std::string> names;
    for (const Command& command : commands)
        if (!command.hidden) names.push_back(command.name);
    return names;
}

std::vector<std::string> names_of(const std::vector<Option>& options) {
    std::vector<std::string> names;
    names.reserve(options.size());
    for (const Option& option : options) names.push_back(option.name);
    return names;
}

// Walks over the words of one command.
class Parser {
public:
    Parser(const Command& root, std::span<const std::string> words)
        : words_(words), in_(find(root)) {}

    Invocation run() {
        for (; at_ < words_.size(); ++at_) {
            const std::string& word = words_[at_];
            if (only_arguments_ || word == "-" || !word.starts_with('-')) {
                take_argument(word);
            } else if (word == "--") {
                only_arguments_ = true;
            } else if (word.starts_with("--")) {
                take_long(word);
            } else {
                take_short(word);
            }
        }
        if (!in_.has("help")) check_complete();
        return in_;
    }

private:
    // Groups are left one by one; options come behind the last name, except --help.
    Invocation find(const Command& root) {
        const Command* command = &root;
        std::string path;
        while (!command->commands.empty()) {
            if (at_ == words_.size()) refuse(path, "a command is missing");
            const std::string& word = words_[at_];
            if (word == "--help" || word == "-h") break;
            const auto next = std::find_if(command->commands.begin(), command->commands.end(),
                                           [&](const Command& c) { return c.name == word; });
            if (next == command->commands.end()) {
                refuse(path, word.starts_with('-')
                                 ? fmt::format("a command must come before '{}'", printable(word))
                                 : fmt::format("unknown command '{}'{}", printable(word),
                                               did_you_mean(word, names_of(command->commands))));
            }
            command = &*next;
            path += (path.empty() ? "" : " ") + word;
            ++at_;
        }
        return {*command, path};
    }

    void take_argument(const std::string& word) {
        const std::vector<Argument>& known = in_.command().arguments;
        const std::size_t index = in_.arguments().size();
        if (index >= known.size() && (known.empty() || !known.back().repeats))
            refuse(in_.path(), fmt::format("too many arguments: {} at most{}", known.size(),
                                           in_.command().surplus));
        const Argument& argument = known[std::min(index, known.size() - 1)];
        check_choice(argument.name, word, argument.choices);
        in_.add_argument(word);
    }

    void take_long(const std::string& word) {
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
        const Option& option = known_option(name);
        std::optional<std::string> value;
        if (equals != std::string::npos) value = word.substr(equals + 1);
        take(option, std::move(value));
    }

    void take_short(const std::string& word) {
        for (const Option& option : in_.command().options) {
            if (option.letter == 0 || option.letter != word[1]) continue;
            std::optional<std::string> value;
            if (word.size() > 2) value = word.substr(2);
            return take(option, std::move(value));
        }
        refuse(in_.path(), fmt::format("unknown option '{}'", printable(word)));
    }

    const Option& known_option(const std::string& name) {
        const std::vector<Option>& options = in_.command().options;
        const auto at = std::find_if(options.begin(), options.end(),
                                     [&](const Option& option) { return option.name == name; });
        if (at == options.end()) {
            refuse(in_.path(), fmt::format("unknown option '--{}'{}", printable(name),
                                           did_you_mean(name, names_of(options), "--")));
        }
        return *at;
    }

    void take(const Option& option, std::optional<std::string> value) {
        if (option.value.empty() && value)
            refuse(in_.path(), fmt::format("option '--{}' takes no value", option.name));
        if (!option.value.empty() && !value) {
            if (at_ + 1 == words_.size())
                refuse(in_.path(), fmt::format("option '--{}' needs a value", option.name));
            value = words_[++at_];
        }
        if (in_.has(option.name) && !option.repeats && !option.value.empty())
            refuse(in_.path(), fmt::format("option '--{}' is given twice", option.name));
        if (value) check_choice("--" + option.name, *value, option.choices);
        in_.add_option(option.name, value.value_or(""));
    }

    void check_choice(const std::string& name, const std::string& value,
                      const std::vector<std::string>& choices) {
        if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end())
            return;
        refuse(in_.path(), fmt::format("{}: '{}' is none of {}", name, printable(value),
                                       fmt::join(choices, ", ")));
    }

    void check_complete() {
        const std::vector<Argument>& known = in_.command().arguments;
        for (std::size_t i = in_.arguments().size(); i < known.size(); ++i) {
            if (known[i].required)
                refuse(in_.path(), fmt::format("argument {} is missing", known[i].name));
        }
    }

    std::span<const std::string> words_;
    std::size_t at_ = 0;
    Invocation in_;
    bool only_arguments_ = false;
};

}  // namespace

std::string Invocation::value(std::string_view option, std::string_view otherwise) const {
    const auto at = options_.find(option);
    return at == options_.end() ? std::string(otherwise) : at->second.back();
}

std::vector<std::string> Invocation::values(std::string_view option) const {
    const auto at = options_.find(option);
    return at == options_.end() ? std::vector<std::string>{} : at->second;
}

std::string Invocation::argument(std::size_t index, std::string_view otherwise) const {
    return index < arguments_.size() ? arguments_[index] : std::string(otherwise);
}

Invocation parse(const Command& root, std::span<const std::string> words) {
    return Parser(root, words).run();
}

}  // namespace postroom::cli
