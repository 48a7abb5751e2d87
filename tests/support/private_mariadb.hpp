// PrivateMariadb: a MariaDB server for one test, which may crash it.
//
// Starting one takes about a second; tests that only need a database use MariadbDatabase.
#pragma once

#include <string>
#include <vector>

#include "support/mariadb_server.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {

class PrivateMariadb {
public:
    enum class Durability {
        fast,     // Commits survive a crash of the server, not of the machine.
        durable,  // Every commit is flushed to the disk, as in production: for measurements.
    };

    // Starts the server. Throws std::runtime_error with the script's words when that fails.
    explicit PrivateMariadb(Durability durability = Durability::fast);
    // Stops the server and removes its data; if the test program crashes, the server's script does.
    ~PrivateMariadb();
    PrivateMariadb(const PrivateMariadb&) = delete;
    PrivateMariadb& operator=(const PrivateMariadb&) = delete;

    // Its address, which crash() and resume() do not change.
    MariadbServer server() const { return MariadbServer(directory_.path()); }

    // SIGKILL: what was not committed is gone, the data stay.
    void crash();
    // Starts a crashed server again; returns when recovery has ended and it accepts connections.
    void resume();
    void crash_restart();

private:
    void run_script(const std::string& action,
                    const std::vector<std::string>& further_arguments = {});

    TempDir directory_;
};

}  // namespace postroom::test
