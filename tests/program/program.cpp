#include "program/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/utf8.hpp"

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
    // The program warns of variables that it does not know, and those of the tests are some.
    const std::string clean = "unset POSTROOM_TEST_SCALE POSTROOM_TEST_SERVERS; ";
    // What an earlier one said must not be taken for what this one says.
    std::filesystem::remove(folder_ / error_file);
    std::vector<std::string> words{"-c", clean + "cd \"$0\" && exec \"$@\" 2>" + error_file,
                                   folder_.path().string(), program_path("postroom").string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::map<std::string, std::string> environment = variables_;
    // Those of other tests run at the same time.
    if (!arguments.empty() && arguments[0] == "relay")
        environment.try_emplace("POSTROOM_ADMIN__LISTEN", "127.0.0.1:0");
    return ChildProcess({.program = "/bin/sh", .arguments = words, .environment = environment});
}

Ran ProgramFolder::run(const std::vector<std::string>& arguments, const std::string& input) const {
    ChildProcess child = start_with(arguments, "err_of_run");
    feed(child, input);
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

Ran ProgramFolder::on_terminal(const std::vector<std::string>& arguments, const std::string& answer,
                               int columns) const {
    write("terminal.py", R"(
import fcntl, os, pty, struct, sys, termios
folder, columns, answer, program = sys.argv[1:5]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 40, int(columns), 0, 0))
    for name in [n for n in os.environ if n.startswith('POSTROOM_TEST_')]:
        del os.environ[name]
    os.environ.setdefault('TERM', 'xterm')
    os.chdir(folder)
    os.execv(program, sys.argv[4:])
try:
    os.write(terminal, answer.encode() + b'\n')
except OSError:
    pass  # it asked nothing and has ended
seen = b''
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    seen += part
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
)");
    std::vector<std::string> words{(folder_ / "terminal.py").string(), folder_.path().string(),
                                   std::to_string(columns), answer,
                                   program_path("postroom").string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    ChildProcess child(
        {.program = "/usr/bin/python3", .arguments = words, .environment = variables_});
    Ran ran{.out = child.read_all(patience)};
    const std::optional<ExitStatus> status = child.wait(patience);
    if (status && status->code) ran.code = *status->code;
    return ran;
}

void feed(ChildProcess& child, const std::string& input) {
    try {
        if (!input.empty()) child.write_line(input);
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::broken_pipe) throw;
    }
    child.close_input();
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

std::size_t longest_line(const std::string& text) {
    std::istringstream lines(text);
    std::size_t longest = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.ends_with('\r')) line.pop_back();
        longest = std::max(longest, base::code_point_count(line));
    }
    return longest;
}

}  // namespace postroom::test
