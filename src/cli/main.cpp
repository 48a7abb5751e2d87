// postroom: reads the command line, runs one command, and turns whatever went wrong into one line
// and an exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "cli/command_tree.hpp"
#include "cli/error_catalogue.hpp"
#include "cli/failure.hpp"
#include "cli/output/text.hpp"
#include "cli/pages/pages.hpp"
#include "cli/parse.hpp"
#include "postroom/error.hpp"

namespace postroom::cli {

namespace {

std::string advice(const Error& error) {
    switch (error.kind()) {
        case ErrorKind::conflict:
            return "; somebody else was at work: try again";
        case ErrorKind::outcome_unknown:
            return "; it may or may not have happened: look before you repeat it";
        case ErrorKind::rejected:
            return "; 'postroom doctor' looks for the reason";
        case ErrorKind::unavailable:  // said where the database is known
        case ErrorKind::misuse:
            break;
    }
    return "";
}

ExitCode run(const std::vector<std::string>& words) {
    const std::vector<std::string> asked =
        words.size() == 1 && words[0] == "--version" ? std::vector<std::string>{"version"} : words;
    if (asked.empty()) {
        print(help_text(command_tree(), ""));
        return ExitCode::usage;
    }
    const Invocation in = parse(command_tree(), asked);
    if (in.has("help")) {
        print(help_text(in.command(), in.path()));
        return ExitCode::ok;
    }
    return in.command().run(in);
}

// A standard descriptor that was closed would be given to the next file that is opened, a database
// perhaps, and read or written as if it were that. One that fails takes its place.
void keep_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) != -1) continue;
        // The lowest that is free is this one.
        if (::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            std::_Exit(static_cast<int>(ExitCode::failed));
    }
}

int guarded(const std::vector<std::string>& words) {
    ExitCode code = ExitCode::failed;
    try {
        code = run(words);
    } catch (const EndedByUser& ended) {
        complain(ended.what());
    } catch (const Failure& failure) {
        code = failure.code();
        complain(with_way_to_entry(code, failure.what()));
    } catch (const Error& error) {
        if (error.retryable()) code = ExitCode::unavailable;
        complain(with_way_to_entry(code, error.what() + advice(error)));
    } catch (const std::exception& error) {
        complain(with_way_to_entry(code, error.what()));
    }
    return static_cast<int>(code);
}

}  // namespace

}  // namespace postroom::cli

int main(int argc, char** argv) {
    postroom::cli::keep_standard_descriptors();
    return postroom::cli::guarded(std::vector<std::string>(argv + 1, argv + argc));
}
