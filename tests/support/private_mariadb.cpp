#include "support/private_mariadb.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "support/server_script.hpp"

namespace postroom::test {

PrivateMariadb::PrivateMariadb(Durability durability) {
    try {
        run_script("start", {durability == Durability::durable ? "durable" : "fast",
                             std::to_string(::getpid())});
    } catch (...) {
        // The destructor will not run; what a failed start has left goes here.
        try {
            run_script("stop");
        } catch (const std::exception& error) {
            std::fputs(fmt::format("{}\n", error.what()).c_str(), stderr);
        }
        throw;
    }
}

PrivateMariadb::~PrivateMariadb() {
    try {
        run_script("stop");
    } catch (const std::exception& error) {
        std::fputs(fmt::format("{}\n", error.what()).c_str(), stderr);
    }
}

void PrivateMariadb::crash() { run_script("crash"); }

void PrivateMariadb::resume() { run_script("resume"); }

void PrivateMariadb::crash_restart() {
    crash();
    resume();
}

void PrivateMariadb::run_script(const std::string& action,
                                const std::vector<std::string>& further_arguments) {
    std::vector<std::string> arguments{action, (directory_.path() / "mariadb").string()};
    arguments.insert(arguments.end(), further_arguments.begin(), further_arguments.end());
    run_server_script("mariadb.sh", arguments);
}

}  // namespace postroom::test
