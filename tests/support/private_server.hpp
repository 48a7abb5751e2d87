// PrivateServer: a database server for one test, which may crash it.
//
// Starting one takes about a second; tests that only need a database share the server that ctest
// runs.
#pragma once

#include <string>
#include <vector>

#include "support/temp_dir.hpp"

namespace postroom::test {

class PrivateServer {
public:
    enum class Durability {
        fast,     // Commits survive a crash of the server, not of the machine.
        durable,  // Every commit is flushed to the disk, as in production: for measurements.
    };

    // Stops the server and removes its data; if the test program crashes, the server's script does.
    ~PrivateServer();
    PrivateServer(const PrivateServer&) = delete;
    PrivateServer& operator=(const PrivateServer&) = delete;

    // SIGKILL to all processes of the server: what was not committed is gone, the data stay.
    void crash();
    // Starts a crashed server again; returns when recovery has ended and it accepts connections.
    void resume();
    void crash_restart();

    // Puts the server's clock so many seconds ("+3600", "-60") beside that of the machine. From the
    // next resume() on it can be moved while the server runs; it takes up to a second.
    void set_clock(const std::string& offset);

protected:
    // Starts the server of tests/servers/`name`.sh. Throws std::runtime_error with the script's
    // words when that fails.
    PrivateServer(std::string name, Durability durability);

    // The folder that holds the folder `name` of the script.
    const TempDir& directory() const { return directory_; }

    // Runs an action of the script.
    void run_script(const std::string& action,
                    const std::vector<std::string>& further_arguments = {});

private:
    const std::string name_;
    TempDir directory_;
};

}  // namespace postroom::test
