// Link: a connection of a doorbell that never makes its thread wait unless it is told to.
//
// Connecting, asking and listening go on in small steps: each call does what is possible at once.
// Between them the caller may wait for the server, for a limited time. Only the resolution of a
// host name, which libpq does by itself, takes as long as it takes.
//
// Every call throws Error{unavailable} when the connection is lost or the server refuses; then the
// link is of no further use.
//
// Thread safety: one thread at a time.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <memory>
#include <string>

#include "backends/postgres/conninfo.hpp"
#include "backends/postgres/driver.hpp"
#include "backends/postgres/stop_signal.hpp"

namespace postroom::postgres {

class Link {
public:
    using Time = std::chrono::steady_clock::time_point;

    // Begins to connect.
    explicit Link(const Conninfo& conninfo);

    Time started() const { return started_; }
    // Readable when there is something to take in.
    int descriptor() const { return PQsocket(connection_.get()); }

    // True once the connection stands.
    bool connected();

    // Sends statements without parameters; nothing else may be on its way.
    void ask(const std::string& sql);
    // True when no answer is outstanding.
    bool answered();

    // True when a notification has come in; all that are there are taken as one.
    bool notified();

    // Waits until the server has something to say, or can be written to where that is what is
    // missing; at most until `deadline` or `stop`.
    void wait(Time deadline, const StopSignal* stop);

private:
    void take_in();
    bool readable() const;
    [[noreturn]] void throw_lost() const;

    const Time started_ = std::chrono::steady_clock::now();
    const std::unique_ptr<PGconn, CloseConnection> connection_;
    PostgresPollingStatusType handshake_ = PGRES_POLLING_WRITING;
    bool flushing_ = false;     // part of a question is still here
    bool outstanding_ = false;  // an answer is
};

// Sleeps until `deadline` or `stop`.
void sleep_until(Link::Time deadline, const StopSignal& stop);

}  // namespace postroom::postgres
