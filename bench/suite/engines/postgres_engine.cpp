#include <sstream>
#include <string>

#include "storage/postgres_connection.hpp"
#include "suite/engines/engine.hpp"
#include "suite/floors/postgres_floor.hpp"
#include "support/private_postgres.hpp"

namespace bench {
namespace {

using postroom::test::PrivatePostgres;

class PostgresEngine final : public Engine {
public:
    PostgresEngine() : server_(PrivatePostgres::Durability::durable) {
        const std::string url = server_.server().url("postgres");
        {
            Connection connection(url);
            connection.execute("ALTER SYSTEM SET shared_buffers = '1GB'");
            connection.execute("ALTER SYSTEM SET max_wal_size = '8GB'");
            // No checkpoint within a run: no full-page images in what is counted.
            connection.execute("ALTER SYSTEM SET checkpoint_timeout = '1h'");
        }
        server_.crash_restart();
        admin_ = std::make_unique<Connection>(url);
        std::istringstream(admin_->scalar("SELECT pg_read_file('postmaster.pid')")) >> pid_;
    }

    std::string name() const override { return "postgresql"; }
    std::string about() override {
        return "PostgreSQL " + admin_->scalar("SHOW server_version") +
               ", fsync on, synchronous_commit on, shared_buffers 1 GB, max_wal_size 8 GB, "
               "no checkpoint during the run, TCP on the loopback";
    }

    std::string fresh_database() override { return server_.server().create_database(); }
    std::unique_ptr<Floor> floor(const std::string& url) override {
        return make_postgres_floor(url);
    }

    double server_cpu() override { return process_cpu(pid_, true) + children_cpu(pid_); }
    double log_bytes() override {
        return std::stod(
            admin_->scalar("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"));
    }

    void settle(const std::string& url) override { Connection(url).execute("VACUUM ANALYZE"); }

private:
    PrivatePostgres server_;
    std::unique_ptr<Connection> admin_;
    long pid_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_postgres() { return std::make_unique<PostgresEngine>(); }

}  // namespace bench
