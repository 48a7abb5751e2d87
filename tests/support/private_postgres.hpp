// PrivatePostgres: a PostgreSQL server for one test, which may crash and reconfigure it.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <string>

#include "support/postgres_server.hpp"
#include "support/private_server.hpp"

namespace postroom::test {

class PrivatePostgres : public PrivateServer {
public:
    explicit PrivatePostgres(Durability durability = Durability::fast)
        : PrivateServer("postgres", durability) {}

    // Its address, which crash() and resume() do not change. It has no PgBouncer.
    PostgresServer server() const { return PostgresServer(directory().path()); }

    // All processes of the server stop where they are: it answers nobody, and yet is not gone.
    void freeze();
    void thaw();

    // Sends `signal` to one server process, known by pg_backend_pid(). SIGTERM ends that
    // connection; SIGKILL makes PostgreSQL end all connections and recover. Throws
    // std::runtime_error when `pid` is no process of this server.
    void kill_backend(pid_t pid, int signal = SIGKILL);

private:
    pid_t postmaster() const;
    void for_all(const std::function<void(pid_t)>& act) const;
};

}  // namespace postroom::test
