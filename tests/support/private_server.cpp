#include "support/private_server.hpp"

#include <unistd.h>

#include <utility>

#include "support/attempt.hpp"
#include "support/server_script.hpp"

namespace postroom::test {

PrivateServer::PrivateServer(std::string name, Durability durability) : name_(std::move(name)) {
    try {
        run_script("start", {durability == Durability::durable ? "durable" : "fast",
                             std::to_string(::getpid())});
    } catch (...) {
        // The destructor will not run; what a failed start has left goes here.
        attempt("server not stopped", [this] { run_script("stop"); });
        throw;
    }
}

PrivateServer::~PrivateServer() {
    attempt("server not stopped", [this] { run_script("stop"); });
}

void PrivateServer::crash() { run_script("crash"); }

void PrivateServer::resume() { run_script("resume"); }

void PrivateServer::crash_restart() {
    crash();
    resume();
}

void PrivateServer::set_clock(const std::string& offset) { run_script("clock", {offset}); }

void PrivateServer::run_script(const std::string& action,
                               const std::vector<std::string>& further_arguments) {
    std::vector<std::string> arguments{action, (directory_ / name_).string()};
    arguments.insert(arguments.end(), further_arguments.begin(), further_arguments.end());
    run_server_script(name_ + ".sh", arguments);
}

}  // namespace postroom::test
