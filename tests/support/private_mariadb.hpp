// PrivateMariadb: a MariaDB server for one test, which may crash it.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <fstream>
#include <stdexcept>

#include "support/mariadb_server.hpp"
#include "support/private_server.hpp"
#include "support/stop_process.hpp"

namespace postroom::test {

class PrivateMariadb : public PrivateServer {
public:
    explicit PrivateMariadb(Durability durability = Durability::fast)
        : PrivateServer("mariadb", durability) {}

    // Its address, which crash() and resume() do not change.
    MariadbServer server() const { return MariadbServer(directory().path()); }

    // The server stops where it is: it answers nobody, and yet is not gone.
    void freeze() const { stop_process(pid()); }
    void thaw() const { ::kill(pid(), SIGCONT); }

private:
    pid_t pid() const {
        pid_t pid = 0;
        std::ifstream(directory() / "mariadb/pid") >> pid;
        if (pid <= 0) throw std::runtime_error("the server does not run");
        return pid;
    }
};

}  // namespace postroom::test
