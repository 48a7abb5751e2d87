// The command line: what the tree says is what help, completion, the man page and the docs say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "program/program.hpp"
#include "support/source_file.hpp"

namespace postroom::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string documentation(const std::string& name) {
    return read_source_file("docs/reference/" + name);
}

// "## postroom migrate up" -> {"migrate", "up"}
std::vector<std::vector<std::string>> documented_commands(const std::string& page) {
    std::vector<std::vector<std::string>> commands;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("## postroom ")) continue;
        std::istringstream words(line.substr(12));
        std::vector<std::string> command;
        for (std::string word; words >> word;) command.push_back(word);
        commands.push_back(command);
    }
    return commands;
}

TEST(CommandLine, UnknownCommandNamesTheNearest) {
    const Ran ran = ProgramFolder().run({"staus"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err,
                HasSubstr("unknown command 'staus'; did you mean 'status'? See 'postroom --help'"));
}

TEST(CommandLine, UnknownOptionNamesTheNearest) {
    const Ran ran = ProgramFolder().run({"status", "--jsno"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("unknown option '--jsno'; did you mean '--json'?"));
}

TEST(CommandLine, WhatIsMissingOrTooMuchIsNamed) {
    const ProgramFolder folder;
    EXPECT_THAT(folder.run({"show"}).err, HasSubstr("argument ID is missing"));
    EXPECT_THAT(folder.run({"show", "a", "b"}).err, HasSubstr("too many arguments: 1 at most"));
    EXPECT_THAT(folder.run({"enqueue", "a", "{}"}).err,
                HasSubstr("too many arguments: 1 at most; the payload comes with --payload"));
    EXPECT_THAT(folder.run({"list", "--limit"}).err, HasSubstr("'--limit' needs a value"));
    EXPECT_THAT(folder.run({"list", "--json=1"}).err, HasSubstr("'--json' takes no value"));
    EXPECT_THAT(folder.run({"list", "--state", "gone"}).err, HasSubstr("'gone' is none of ready"));
    EXPECT_THAT(folder.run({"migrate"}).err, HasSubstr("a command is missing"));
    EXPECT_EQ(folder.run({}).code, 2);
    EXPECT_FALSE(std::filesystem::exists(folder / "postroom.db"));
}

TEST(CommandLine, ControlCharactersOfTheUserDoNotReachTheTerminal) {
    const Ran ran = ProgramFolder().run({"\033[2Jstatus"});
    EXPECT_EQ(ran.err.find('\033'), std::string::npos);
    EXPECT_THAT(ran.err, HasSubstr("\\x1b"));
}

TEST(CommandLine, ReferencePagesAreWhatTheProgramSays) {
    const ProgramFolder folder;
    const std::string advice = "run: postroom pages NAME > docs/reference/NAME.md";
    EXPECT_EQ(folder.good({"pages", "cli"}), documentation("cli.md")) << advice;
    EXPECT_EQ(folder.good({"pages", "config"}), documentation("config.md")) << advice;
}

// Both ways: the page has every code, and no other.
TEST(CommandLine, ThePageOfErrorsHasTheTableOfTheProgram) {
    const std::string page = documentation("errors.md");
    const std::string heading = "## Errors of the program\n";
    const std::size_t begin = page.find("| code |", page.find(heading));
    ASSERT_NE(begin, std::string::npos);
    EXPECT_EQ(page.substr(begin, page.find("\n\n", begin) + 1 - begin),
              ProgramFolder().good({"pages", "errors"}))
        << "paste the output of: postroom pages errors";
}

// Of a table with one row for each code: `| \`code\` | exit code | ...`.
std::map<std::string, int> error_codes(const ProgramFolder& folder) {
    std::map<std::string, int> codes;
    std::istringstream lines(folder.good({"pages", "errors"}));
    const std::regex row("\\| `(\\w+)` \\| (\\d) \\|.*");
    std::smatch parts;
    for (std::string line; std::getline(lines, line);)
        if (std::regex_match(line, parts, row)) codes[parts[1]] = std::stoi(parts[2]);
    return codes;
}

TEST(CommandLine, EveryErrorCodeIsExplained) {
    const ProgramFolder folder;
    const std::map<std::string, int> codes = error_codes(folder);
    const std::string all = folder.good({"help", "errors"});
    std::set<int> exits;
    for (const auto& [code, exit] : codes) {
        EXPECT_THAT(folder.good({"help", "errors", code}),
                    HasSubstr(code + ", exit code " + std::to_string(exit)));
        EXPECT_THAT(all, HasSubstr("\n  " + code + " "));
        exits.insert(exit);
    }
    EXPECT_THAT(exits, testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
    EXPECT_THAT(folder.run({"help", "errors", "tsl"}).err,
                HasSubstr("there is no error 'tsl'; did you mean 'tls'?"));
    EXPECT_LE(longest_line(all), 80U);
}

TEST(CommandLine, AnErrorLineEndsWithTheWayToItsExplanation) {
    const ProgramFolder folder;
    const auto expect = [&](int exit, const std::string& code, const Ran& ran) {
        EXPECT_EQ(ran.code, exit) << ran.err;
        EXPECT_THAT(ran.err, testing::EndsWith(" (postroom help errors " + code + ")\n"));
    };
    expect(4, "not_found", folder.run({"status", "--url", "sqlite:gone.db"}));
    folder.write("wrong.toml", "[relay]\nbatch = 0\n");
    expect(5, "config", folder.run({"status", "--config", "wrong.toml"}));
    expect(3, "no_connection", folder.run({"status", "--url", "postgresql://127.0.0.1:1/shop"}));
    expect(3, "no_connection", folder.run({"status", "--url", "mysql://u@127.0.0.1:1/shop"}));
    folder.write("empty.db", "");
    expect(6, "schema", folder.run({"list", "--url", "sqlite:empty.db"}));
    folder.write("text.db", "this is no database, and so it is refused");
    expect(3, "unavailable", folder.run({"list", "--url", "sqlite:text.db"}));
    folder.good({"migrate", "up"});
    expect(7, "input", folder.run({"enqueue", "--jsonl"}, "{"));
    const Ran usage = folder.run({"list", "--sate", "all"});
    EXPECT_EQ(usage.code, 2);
    EXPECT_THAT(usage.err, Not(HasSubstr("help errors")));
}

TEST(CommandLine, EveryCommandHasHelpWithItsOwnUsage) {
    const ProgramFolder folder;
    const auto commands = documented_commands(folder.good({"pages", "cli"}));
    ASSERT_GE(commands.size(), 15U);
    for (std::vector<std::string> command : commands) {
        std::string usage = "Usage: postroom";
        for (const std::string& word : command) usage += " " + word;
        command.emplace_back("--help");
        EXPECT_THAT(folder.good(command), StartsWith(usage));
    }
    EXPECT_EQ(folder.good({"--help"}).find("pages"), std::string::npos);
}

TEST(CommandLine, ManPageHasEveryCommandAndExitCode) {
    const ProgramFolder folder;
    const std::string page = folder.good({"pages", "man"});
    EXPECT_EQ(count_of(page, "\n.SS postroom "),
              documented_commands(folder.good({"pages", "cli"})).size());
    EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS\n.TP\n0\n"));
}

// They are parts of an address: nobody finds them among the settings.
TEST(CommandLine, EveryReferenceNamesTheOptionsOfTls) {
    const ProgramFolder folder;
    for (const std::string page : {"man", "man-config", "config"}) {
        const std::string text = folder.good({"pages", page});
        const std::string dash = page == "config" ? "-" : "\\-";
        for (const std::string& option : {std::string("sslmode="), std::string("sslrootcert="),
                                          "ssl" + dash + "mode=", "ssl" + dash + "ca="})
            EXPECT_THAT(text, HasSubstr("?" + option)) << page;
    }
}

// "| `relay.batch` |" -> "\\fBrelay.batch\\fR"
TEST(CommandLine, ManPageOfTheConfigHasEverySettingOfTheReference) {
    const ProgramFolder folder;
    const std::string page = folder.good({"pages", "man-config"});
    std::istringstream lines(folder.good({"pages", "config"}));
    std::size_t settings = 0;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("| `")) continue;
        EXPECT_THAT(page, HasSubstr("\n\\fB" + line.substr(3, line.find('`', 3) - 3) + "\\fR ("));
        ++settings;
    }
    EXPECT_GE(settings, 20U);
    EXPECT_EQ(count_of(page, "\n.TP\n"), settings);
}

// Goal: completion works in the shell it is for. Method: bash itself completes a few words.
TEST(CommandLine, BashCompletesCommandsOptionsAndChoices) {
    const ProgramFolder folder;
    folder.write("completion.bash", folder.good({"completion", "bash"}));
    const auto ask = [&](std::vector<std::string> words) {
        std::vector<std::string> arguments{
            "-c",
            "source completion.bash; COMP_WORDS=(postroom \"$@\"); COMP_CWORD=$#; _postroom; "
            "echo \"${COMPREPLY[*]}\"",
            "bash"};
        arguments.insert(arguments.end(), words.begin(), words.end());
        arguments[1] = "cd '" + folder.folder().path().string() + "'; " + arguments[1];
        ChildProcess bash({.program = "/bin/bash", .arguments = arguments});
        return bash.read_line(std::chrono::seconds{60}).value_or("(nothing)");
    };
    EXPECT_EQ(ask({"sta"}), "status");
    EXPECT_EQ(ask({"migrate", "s"}), "status sql");
    EXPECT_EQ(ask({"list", "--sta"}), "--state");
    EXPECT_EQ(ask({"list", "--state", "d"}), "done dead");
    EXPECT_EQ(ask({"completion", "f"}), "fish");
}

TEST(CommandLine, OtherShellsGetTheWholeTreeToo) {
    const ProgramFolder folder;
    EXPECT_THAT(folder.good({"completion", "zsh"}), StartsWith("#compdef postroom"));
    const std::string fish = folder.good({"completion", "fish"});
    EXPECT_THAT(fish, HasSubstr("-a migrate"));
    EXPECT_THAT(fish, HasSubstr("-l dry-run"));
}

TEST(CommandLine, VersionNamesTheSinks) {
    const ProgramFolder folder;
    EXPECT_THAT(folder.good({"version"}), HasSubstr("stdout"));
    EXPECT_EQ(folder.good({"--version"}), folder.good({"version"}));
    EXPECT_THAT(folder.good({"version", "--json"}), StartsWith("{\"version\":\""));
}

}  // namespace
}  // namespace postroom::test
