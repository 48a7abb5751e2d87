// The world around a relay, played by programs that are not ours: the command line clients of the
// databases write, and that of another AMQP implementation receives.
#pragma once

#include <string>
#include <vector>

#include "program/program.hpp"

namespace postroom::test {

// Runs a program to its end, with `input` as its standard input; standard error goes into `out`.
Ran run_tool(const std::string& program, const std::vector<std::string>& arguments,
             const std::string& input = "");

// Runs a program as run_tool() does; its exit code must be 0.
std::string good_tool(const std::string& program, const std::vector<std::string>& arguments,
                      const std::string& input = "");

// HttpPeer: a web server of the test's own that answers every POST with `status`.
class HttpPeer {
public:
    explicit HttpPeer(int status);

    const std::string& port() const { return port_; }

private:
    ChildProcess process_;
    std::string port_;
};

// RabbitQueue: a durable queue of the test's own on the RabbitMQ of the test run, declared, read
// and deleted with amqp-tools.
class RabbitQueue {
public:
    RabbitQueue();
    ~RabbitQueue();
    RabbitQueue(const RabbitQueue&) = delete;
    RabbitQueue& operator=(const RabbitQueue&) = delete;

    const std::string& name() const { return name_; }
    // Of the server, with its password.
    const std::string& url() const { return url_; }

    // A consumer that prints the body of each message as it is: payloads should end with a line
    // end.
    ChildProcess consume() const;

private:
    std::string url_;
    std::string name_;
};

}  // namespace postroom::test
