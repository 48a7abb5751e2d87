#include "conformance/program_looks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iostream>

#include "support/wait_until.hpp"
#include "unit/http_client.hpp"

namespace postroom::test {

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::chrono::seconds relay_patience{90};
constexpr std::uint64_t relay_memory_max_kib = 100 * 1024;

std::uint64_t peak_memory_kib(pid_t pid) {
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    for (std::string word; status >> word;) {
        std::uint64_t kib = 0;
        if (word == "VmHWM:" && status >> kib) return kib;
    }
    ADD_FAILURE() << "the memory of the relay is not known";
    return 0;
}

std::string metrics_at(const std::string& url) {
    const HttpClient client(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return client.read_all();
}

}  // namespace

ProgramLooks::ProgramLooks(const std::string& url, const Stopwatch& watch) : watch_(watch) {
    folder_.set("POSTROOM_URL", url);
}

void ProgramLooks::look(const std::vector<std::string>& command, const std::string& shown) const {
    std::string out;
    std::vector<std::string> words = command;
    // An id says nothing to whoever reads the figures.
    if (words.front() == "show" || words.front() == "explain") words.back() = shown;
    watch_.look(fmt::format("postroom {}", fmt::join(words, " ")),
                [&] { out = folder_.good(command); });
    EXPECT_NE(out, "") << words.front();
}

void ProgramLooks::at_status() const { look({"status"}, ""); }

void ProgramLooks::at_lists() const {
    using Words = std::vector<std::string>;
    for (const Words& filter :
         {Words{}, Words{"--state", "dead"}, Words{"--state", "done"}, Words{"--state", "all"},
          Words{"--topic", "topic.3"}, Words{"--error", "503"}, Words{"--tenant-id", "tenant-3"}}) {
        Words command{"list"};
        command.insert(command.end(), filter.begin(), filter.end());
        look(command, "");
    }
}

void ProgramLooks::at_message(const std::string& name, const std::string& id) const {
    look({"show", id}, name);
    look({"explain", id}, name);
}

void ProgramLooks::at_relay() const {
    const auto begun = std::chrono::steady_clock::now();
    ChildProcess relay = folder_.start({"relay", "--set", "log.per_message=false"});
    EXPECT_THAT(relay.read_line(relay_patience).value_or("nothing"), HasSubstr("topic."));
    const auto first =
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun);
    Stopwatch::print("postroom relay: first delivery", first);
    if (watch_.judges()) {
        EXPECT_LE(first, 1s);
    }
    ASSERT_TRUE(wait_until([&] { return count_of(folder_.read("err"), "ADMIN_READY") == 1; },
                           relay_patience));
    const std::string url = text_member(folder_.read("err"), "url");
    ASSERT_TRUE(wait_until([&] { return count_of(metrics_at(url), "postroom_backlog{") > 0; },
                           relay_patience));
    watch_.look("postroom relay: GET /metrics", [&] { metrics_at(url); });
    // It is to have been at work for a while.
    std::size_t delivered = 1;
    const auto end = std::chrono::steady_clock::now() + 2s;
    while (std::chrono::steady_clock::now() < end) delivered += relay.read_line(100ms) ? 1 : 0;
    const std::uint64_t kib = peak_memory_kib(relay.pid());
    std::cout << fmt::format("    {:<52} {:>8.1f} MiB\n",
                             fmt::format("postroom relay: memory after {} deliveries", delivered),
                             static_cast<double>(kib) / 1024);
    EXPECT_LE(kib, relay_memory_max_kib);
    relay.kill(SIGTERM);
    relay.read_all(relay_patience);
    const std::optional<ExitStatus> status = relay.wait(relay_patience);
    EXPECT_TRUE(status && status->success());
}

}  // namespace postroom::test
