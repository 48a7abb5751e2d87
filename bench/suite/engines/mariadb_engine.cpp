#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "storage/measure.hpp"
#include "suite/engines/engine.hpp"
#include "suite/floors/mariadb_connection.hpp"
#include "suite/floors/mariadb_floor.hpp"
#include "support/private_mariadb.hpp"

namespace bench {
namespace {

using postroom::test::PrivateMariadb;

class MariadbEngine final : public Engine {
public:
    MariadbEngine() : server_(PrivateMariadb::Durability::durable) {
        admin_ = std::make_unique<MariadbConnection>(server_.server().root_url());
        admin_->execute("SET GLOBAL innodb_buffer_pool_size = 1073741824");
        admin_->execute("SET GLOBAL innodb_log_file_size = 1073741824");
        std::ifstream(admin_->rows("SELECT @@pid_file").at(0)) >> pid_;
    }

    std::string name() const override { return "mariadb"; }
    std::string about() override {
        return "MariaDB " + admin_->rows("SELECT version()").at(0) +
               ", innodb_flush_log_at_trx_commit 1, buffer pool 1 GB, log 1 GB, no binary log, "
               "TCP on the loopback";
    }

    std::string fresh_database() override {
        const postroom::test::MariadbServer server = server_.server();
        return server.url(server.create_database());
    }
    std::unique_ptr<Floor> floor(const std::string& url) override {
        return make_mariadb_floor(url);
    }

    double server_cpu() override { return process_cpu(pid_, false); }
    double log_bytes() override {
        return std::stod(admin_
                             ->rows("SELECT variable_value FROM information_schema.global_status "
                                    "WHERE variable_name = 'Innodb_lsn_current'")
                             .at(0));
    }

    // Deleted rows are purged in the background, which would be counted for the next sample.
    void settle(const std::string&) override {
        const Stopwatch watch;
        while (watch.seconds() < 5) {
            const std::string left =
                admin_
                    ->rows(
                        "SELECT variable_value FROM information_schema.global_status "
                        "WHERE variable_name = 'Innodb_history_list_length'")
                    .at(0);
            if (std::stol(left) < 100) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }

private:
    PrivateMariadb server_;
    std::unique_ptr<MariadbConnection> admin_;
    long pid_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_mariadb() { return std::make_unique<MariadbEngine>(); }

}  // namespace bench
