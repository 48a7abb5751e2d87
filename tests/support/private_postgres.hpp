// PrivatePostgres: a PostgreSQL server for one test, which may crash and reconfigure it.
//
// Starting one takes about a second; tests that only need a database use PostgresDatabase.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "support/postgres_server.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {

class PrivatePostgres {
public:
    enum class Durability {
        fast,     // fsync off: survives a crash of the server, not of the machine.
        durable,  // fsync on, as in production: for measurements.
    };

    // Starts the server. Throws std::runtime_error with the script's words when that fails.
    explicit PrivatePostgres(Durability durability = Durability::fast);
    // Stops the server and removes its data; if the test program crashes, the server's script does.
    ~PrivatePostgres();
    PrivatePostgres(const PrivatePostgres&) = delete;
    PrivatePostgres& operator=(const PrivatePostgres&) = delete;

    // Its address, which crash() and resume() do not change. It has no PgBouncer.
    PostgresServer server() const { return PostgresServer(directory_.path()); }

    // SIGKILL to the postmaster and all its children: what was not committed is gone, the data
    // stay.
    void crash();
    // Starts a crashed server again; returns when recovery has ended and it accepts connections.
    void resume();
    void crash_restart();

    // Sends `signal` to one server process, known by pg_backend_pid(). SIGTERM ends that
    // connection; SIGKILL makes PostgreSQL end all connections and recover. Throws
    // std::runtime_error when `pid` is no process of this server.
    void kill_backend(pid_t pid, int signal = SIGKILL);

private:
    void run_script(const std::string& action,
                    const std::vector<std::string>& further_arguments = {});

    TempDir directory_;
};

}  // namespace postroom::test
