// The program `postroom` as a user runs it: in a folder of its own, as a child process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {

struct Ran {
    int code = -1;
    std::string out{};
    std::string err{};
};

// ProgramFolder: a folder with a config file, perhaps, in which the program is called.
class ProgramFolder {
public:
    const TempDir& folder() const { return folder_; }
    std::filesystem::path operator/(std::string_view name) const { return folder_ / name; }

    void write(std::string_view name, std::string_view content) const;
    std::string read(std::string_view name) const;

    // For all calls from here on.
    void set(const std::string& variable, const std::string& value) {
        variables_[variable] = value;
    }

    // Runs it to its end.
    Ran run(const std::vector<std::string>& arguments, const std::string& input = "") const;
    // Runs it to its end; its exit code must be 0.
    std::string good(const std::vector<std::string>& arguments,
                     const std::string& input = "") const;
    // Runs it to its end on a terminal of `columns`, where somebody types `answer`; `out` is all
    // that was seen.
    Ran on_terminal(const std::vector<std::string>& arguments, const std::string& answer = "",
                    int columns = 80) const;
    // Starts it; standard error goes to the file "err", which is of this one only.
    ChildProcess start(const std::vector<std::string>& arguments) const;

private:
    ChildProcess start_with(const std::vector<std::string>& arguments,
                            const std::string& error_file) const;

    TempDir folder_;
    std::map<std::string, std::string> variables_;
};

// Writes `input`, if there is any, as a line to the child's standard input, and ends that. A child
// that does not read it, and may have ended by now, is none the worse for it.
void feed(ChildProcess& child, const std::string& input);

// The text behind `"key":"` in `json`; fails the test when it is not there.
std::string text_member(const std::string& json, const std::string& key);

std::size_t count_of(const std::string& text, const std::string& part);

// In characters; a line of a terminal may end in "\r\n".
std::size_t longest_line(const std::string& text);

}  // namespace postroom::test
