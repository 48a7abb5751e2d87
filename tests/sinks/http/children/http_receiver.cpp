// http_receiver <port> <journal>: takes webhooks, and notes the id and the ordering key of each in
// the journal before it answers. Runs until its input ends, or until it is killed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "sinks/http/http_server.hpp"
#include "support/wait_until.hpp"

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const int journal = ::open(argv[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (journal < 0) return 1;
    const auto note = [journal](const postroom::test::HttpRequest& request) {
        const std::string line = fmt::format("{} {} {}\n", request.header("ce-id"),
                                             request.header("ce-partitionkey"), request.body);
        if (::write(journal, line.data(), line.size()) < 0) std::abort();
        return postroom::test::HttpAnswer{};
    };
    std::optional<postroom::test::HttpServer> server;
    // A port that it had before may be somebody's outgoing connection for the moment.
    const auto listens = [&] {
        try {
            server.emplace(note, static_cast<std::uint16_t>(std::atoi(argv[1])));
        } catch (const std::system_error&) {
            return false;
        }
        return true;
    };
    if (!postroom::test::wait_until(listens, std::chrono::seconds{60},
                                    std::chrono::milliseconds{50}))
        return 1;
    std::printf("%d\n", server->port());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return 0;
}
