#include "program/program.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace postroom::test {

namespace {

constexpr std::chrono::seconds patience{120};

}  // namespace

void ProgramFolder::write(std::string_view name, std::string_view content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
}

std::string ProgramFolder::read(std::string_view name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
    return text.str();
}

ChildProcess ProgramFolder::start(const std::vector<std::string>& arguments) const {
    return start_with(arguments, "err");
}

ChildProcess ProgramFolder::start_with(const std::vector<std::string>& arguments,
                                       const std::string& error_file) const {
    // What an earlier one said must not be taken for what this one says.
    std::filesystem::remove(folder_ / error_file);
    std::vector<std::string> words{"-c", "cd \"$0\" && exec \"$@\" 2>" + error_file,
                                   folder_.path().string(), program_path("postroom").string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return ChildProcess({.program = "/bin/sh", .arguments = words, .environment = variables_});
}

Ran ProgramFolder::run(const std::vector<std::string>& arguments, const std::string& input) const {
    ChildProcess child = start_with(arguments, "err_of_run");
    if (!input.empty()) child.write_line(input);
    child.close_input();
    Ran ran{.out = child.read_all(patience)};
    const std::optional<ExitStatus> status = child.wait(patience);
    if (status && status->code) ran.code = *status->code;
    ran.err = read("err_of_run");
    return ran;
}

std::string ProgramFolder::good(const std::vector<std::string>& arguments,
                                const std::string& input) const {
    const Ran ran = run(arguments, input);
    EXPECT_EQ(ran.code, 0) << arguments[0] << ": " << ran.err;
    return ran.out;
}

std::string text_member(const std::string& json, const std::string& key) {
    const std::string head = "\"" + key + "\":\"";
    const std::size_t at = json.find(head);
    if (at == std::string::npos) {
        ADD_FAILURE() << "no " << key << " in " << json;
        return "";
    }
    const std::size_t begin = at + head.size();
    return json.substr(begin, json.find('"', begin) - begin);
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos;
         at = text.find(part, at + part.size()))
        ++count;
    return count;
}

}  // namespace postroom::test
