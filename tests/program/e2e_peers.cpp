#include "program/e2e_peers.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "support/test_servers.hpp"

namespace postroom::test {

namespace {

constexpr std::chrono::seconds tool_patience{120};

// Its argument is the status.
constexpr const char* http_peer = R"(
import http.server, sys
class Peer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(int(sys.argv[1]))
        self.send_header('Content-Length', '0')
        self.end_headers()
    def log_message(self, *ignored):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Peer)
print(server.server_port)
server.serve_forever()
)";

}  // namespace

Ran run_tool(const std::string& program, const std::vector<std::string>& arguments,
             const std::string& input) {
    ChildProcess child({.program = program, .arguments = arguments, .merge_stderr = true});
    feed(child, input);
    Ran ran{.out = child.read_all(tool_patience)};
    const std::optional<ExitStatus> status = child.wait(tool_patience);
    if (status && status->code) ran.code = *status->code;
    return ran;
}

std::string good_tool(const std::string& program, const std::vector<std::string>& arguments,
                      const std::string& input) {
    const Ran ran = run_tool(program, arguments, input);
    EXPECT_EQ(ran.code, 0) << program << ": " << ran.out;
    return ran.out;
}

HttpPeer::HttpPeer(int status)
    : process_({.program = "/usr/bin/python3",
                .arguments = {"-u", "-c", http_peer, std::to_string(status)},
                .merge_stderr = true}) {
    port_ = process_.read_line(tool_patience).value_or("");
    if (port_.empty() || port_.find_first_not_of("0123456789") != std::string::npos)
        throw std::runtime_error("no port in: " + port_);
}

RabbitQueue::RabbitQueue() : name_("queue_of_" + unique_database_name()) {
    const std::map<std::string, std::string> server =
        server_values(servers_directory(), "rabbitmq");
    url_ = fmt::format("amqp://{}:{}@{}:{}", server.at("user"), server.at("password"),
                       server.at("host"), server.at("port"));
    good_tool("/usr/bin/amqp-declare-queue", {"--url=" + url_, "--queue=" + name_, "--durable"});
}

RabbitQueue::~RabbitQueue() {
    good_tool("/usr/bin/amqp-delete-queue", {"--url=" + url_, "--queue=" + name_});
}

ChildProcess RabbitQueue::consume() const {
    return ChildProcess(
        {.program = "/usr/bin/amqp-consume",
         .arguments = {"--url=" + url_, "--queue=" + name_, "--no-ack", "/bin/cat"}});
}

}  // namespace postroom::test
