#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "sinks/http/http_server.hpp"
#include "sinks/outage.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

// A receiver in a process of its own, so that it can be killed; its journal survives it.
class Receiver {
public:
    void start() {
        child_.emplace(
            ChildOptions{.program = program_path("http_receiver"),
                         .arguments = {std::to_string(port_.number()), journal().string()}});
        if (!child_->read_line(60s)) throw std::runtime_error("http_receiver did not start");
    }
    void kill() {
        child_->kill(SIGKILL);
        child_->wait(30s);
        child_.reset();
    }
    std::string url() const { return fmt::format("http://127.0.0.1:{}/hook", port_.number()); }

    std::vector<Received> received() const {
        std::ifstream file(journal());
        std::vector<Received> all;
        for (std::string line; std::getline(file, line);) {
            const std::size_t first = line.find(' ');
            const std::size_t second = line.find(' ', first + 1);
            all.push_back({.message_id = line.substr(0, first),
                           .key = line.substr(first + 1, second - first - 1),
                           .payload = line.substr(second + 1)});
        }
        return all;
    }

private:
    std::filesystem::path journal() const { return folder_ / "journal"; }

    TempDir folder_;
    const Port port_;  // nobody else takes it during the outage
    std::optional<ChildProcess> child_;
};

// Goal: an outage of the receiver loses nothing and costs no message an attempt.
// Method: SIGKILL of its process under load, and a new one on the same port.
TEST(HttpSinkOutage, NothingIsLostAndNoAttemptIsSpent) {
    Receiver receiver;
    receiver.start();
    std::unique_ptr<Sink> sink =
        make_sink({.name = "hook",
                   .type = "http",
                   .settings = {{"url", receiver.url()}, {"allow_networks", "127.0.0.1"}}});
    expect_outage_is_survived(std::move(sink),
                              {.kill = [&] { receiver.kill(); },
                               .restart = [&] { receiver.start(); },
                               .received_count = [&] { return receiver.received().size(); },
                               .received = [&] { return receiver.received(); }});
}

}  // namespace
}  // namespace postroom::test
