// The laws on MariaDB and on MySQL, one database per test.
#include "postroom/backend/mysql.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "conformance/borrowed_transaction.hpp"
#include "conformance/dispatcher_law.hpp"
#include "conformance/mysql/procedure_store.hpp"
#include "conformance/mysql/roles.hpp"
#include "conformance/mysql/session.hpp"

namespace postroom::test {
namespace {

class OpenSession {
public:
    explicit OpenSession(const std::string& url) : session_(url) {
        session_.run("START TRANSACTION");
    }
    std::unique_ptr<TxContext> borrow() { return mysql::borrow(session_.handle()); }

private:
    NativeSession session_;
};

class MariadbSandbox : public SqlSandbox {
public:
    MariadbSandbox(MariadbServer server, const OpenOptions& options)
        : database_(std::move(server)),
          options_(options),
          store_(mysql::open_store(database_.url(), options)) {
        options_.deploy_schema = false;
    }

    Store& store() override { return *store_; }
    std::unique_ptr<Store> reopen() override { return reopen_with(options_); }
    SqlRows sql(const std::string& text) override { return database_.sql(text); }
    std::string url() const override { return database_.url(); }
    std::unique_ptr<Store> reopen_with(const OpenOptions& options) override {
        return mysql::open_store(database_.url(), options);
    }
    std::unique_ptr<Schema> schema(const OpenOptions& options) override {
        return mysql::open_schema(database_.url(), options);
    }
    RunNatively native_handle(Transaction& tx) override {
        return [handle = mysql::handle(tx)](const std::string& statement) {
            if (mysql_query(handle, statement.c_str()) != 0)
                throw std::runtime_error(mysql_error(handle));
        };
    }
    std::unique_ptr<TxContext> borrowed() override {
        return std::make_unique<BorrowedTransaction<OpenSession>>(database_.url());
    }
    // A schema is a database, and there is only one here.
    std::string table(const std::string& /*schema*/, const std::string& name) const override {
        return '`' + name + '`';
    }
    std::string drop_index(const std::string& name, const std::string& table_name) const override {
        return "DROP INDEX `" + name + "` ON `" + table_name + "`";
    }
    std::string placeholder(int /*number*/) const override { return "?"; }
    bool refuses_plain_keys() const override { return true; }
    std::string bytes_type() const override { return "blob"; }
    std::string joined(const std::vector<std::string>& parts) const override {
        return fmt::format("CONCAT({})", fmt::join(parts, ", "));
    }
    std::string seconds_ago(const std::string& seconds) const override {
        return "UTC_TIMESTAMP(6) - INTERVAL (" + seconds + ") SECOND";
    }
    std::string number_from(std::uint64_t seq) const override {
        return "ALTER TABLE outbox_live AUTO_INCREMENT = " + std::to_string(seq);
    }
    std::vector<std::string> objects() override {
        std::vector<std::string> names;
        for (const auto& row :
             sql("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() "
                 "UNION ALL SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS "
                 "WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME <> 'PRIMARY' "
                 "UNION ALL SELECT ROUTINE_NAME FROM information_schema.ROUTINES "
                 "WHERE ROUTINE_SCHEMA = DATABASE()"))
            names.push_back(row.at(0).value());
        return names;
    }

protected:
    const MariadbDatabase& database() const { return database_; }

private:
    MariadbDatabase database_;
    OpenOptions options_;
    std::unique_ptr<Store> store_;
};

class ProcedureSandbox final : public MariadbSandbox {
public:
    ProcedureSandbox(MariadbServer server, const OpenOptions& options)
        : MariadbSandbox(std::move(server), options),
          store_(MariadbSandbox::store(), database().url()) {}

    Store& store() override { return store_; }

private:
    ProcedureStore store_;
};

// On the server of every run, or on that which only the full run has.
Backend procedures_on(const std::string& server, std::string name) {
    return {.name = std::move(name), .make = [server](const OpenOptions& options) {
                return std::make_unique<ProcedureSandbox>(
                    MariadbServer(servers_directory(), server), options);
            }};
}

// Deployed by an account with all rights; the store works with those of a worker.
class MariadbWorkerSandbox final : public MariadbSandbox {
public:
    explicit MariadbWorkerSandbox(const OpenOptions& options)
        : MariadbSandbox(MariadbServer(), options), accounts_(database()), worker_(reopen()) {}

    Store& store() override { return *worker_; }
    std::unique_ptr<Store> reopen_with(const OpenOptions& options) override {
        return mysql::open_store(accounts_.url("worker"), options);
    }

private:
    GrantedAccounts accounts_;
    std::unique_ptr<Store> worker_;
};

Backend backend() {
    return {.name = "Mariadb", .make = [](const OpenOptions& options) {
                return std::make_unique<MariadbSandbox>(MariadbServer(), options);
            }};
}

Backend worker_backend() {
    return {.name = "MariadbWorker", .make = [](const OpenOptions& options) {
                return std::make_unique<MariadbWorkerSandbox>(options);
            }};
}

// A server of its own, which only the full run has.
Backend mysql_backend() {
    return {.name = "Mysql", .make = [](const OpenOptions& options) {
                return std::make_unique<MariadbSandbox>(MariadbServer(servers_directory(), "mysql"),
                                                        options);
            }};
}

POSTROOM_STORE_LAWS(backend());
POSTROOM_DISPATCHER_LAWS(backend());
POSTROOM_LAW(DoorbellPerQueueLaw, both_queues_of(backend()));
POSTROOM_SQL_LAWS(backend());
POSTROOM_LAW(PlainKeyLaw, outbox_of(backend()));
POSTROOM_LAW(UpkeepLaw, both_queues_of(backend()));
POSTROOM_LAW(RowLockLaw, outbox_of(backend()));
POSTROOM_LAW(ImplicitCommitLaw, outbox_of(backend()));

}  // namespace

namespace worker_role {
namespace {
POSTROOM_WORK_LAWS(worker_backend());
}  // namespace
}  // namespace worker_role

namespace on_mysql {
namespace {
POSTROOM_STORE_LAWS(mysql_backend());
POSTROOM_DISPATCHER_LAWS(mysql_backend());
POSTROOM_LAW(DoorbellPerQueueLaw, both_queues_of(mysql_backend()));
POSTROOM_SQL_LAWS(mysql_backend());
POSTROOM_LAW(PlainKeyLaw, outbox_of(mysql_backend()));
POSTROOM_LAW(UpkeepLaw, both_queues_of(mysql_backend()));
POSTROOM_LAW(RowLockLaw, outbox_of(mysql_backend()));
POSTROOM_LAW(ImplicitCommitLaw, outbox_of(mysql_backend()));
}  // namespace
}  // namespace on_mysql

namespace procedures {
namespace {
POSTROOM_WORK_LAWS(procedures_on("mariadb", "MariadbProcedures"));
}  // namespace
}  // namespace procedures

namespace procedures_on_mysql {
namespace {
POSTROOM_WORK_LAWS(procedures_on("mysql", "MysqlProcedures"));
}  // namespace
}  // namespace procedures_on_mysql

}  // namespace postroom::test
