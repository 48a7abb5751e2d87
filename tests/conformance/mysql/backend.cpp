// The laws on MariaDB and on MySQL, one database per test.
#include "postroom/backend/mysql.hpp"

#include <thread>
#include <utility>

#include "conformance/dispatcher_law.hpp"
#include "conformance/mysql/session.hpp"

namespace postroom::test {
namespace {

// Somebody's own transaction, rolled back when the test does not commit it.
class BorrowedTransaction final : public TxContext {
public:
    explicit BorrowedTransaction(const std::string& url)
        : session_(url), context_(mysql::borrow(session_.handle())) {
        session_.run("START TRANSACTION");
    }
    bool in_transaction() const override { return context_->in_transaction(); }
    postroom::SqlRows execute(const SqlStatement& statement) override {
        return context_->execute(statement);
    }
    bool reports_end() const override { return context_->reports_end(); }
    void after_commit(std::function<void()> callback) override {
        context_->after_commit(std::move(callback));
    }
    void after_rollback(std::function<void()> callback) override {
        context_->after_rollback(std::move(callback));
    }

private:
    NativeSession session_;
    std::unique_ptr<TxContext> context_;
};

class MariadbSandbox final : public SqlSandbox {
public:
    MariadbSandbox(MariadbServer server, const OpenOptions& options)
        : database_(std::move(server)),
          options_(options),
          store_(mysql::open_store(database_.url(), options)) {
        options_.deploy_schema = false;
    }

    Store& store() override { return *store_; }
    std::unique_ptr<Store> reopen() override { return reopen_with(options_); }
    void pass(Duration duration) override { std::this_thread::sleep_for(duration); }
    SqlRows sql(const std::string& text) override { return database_.sql(text); }
    std::unique_ptr<Store> reopen_with(const OpenOptions& options) override {
        return mysql::open_store(database_.url(), options);
    }
    std::unique_ptr<Schema> schema(const OpenOptions& options) override {
        return mysql::open_schema(database_.url(), options);
    }
    std::unique_ptr<TxContext> borrowed() override {
        return std::make_unique<BorrowedTransaction>(database_.url());
    }
    // A schema is a database, and there is only one here.
    std::string table(const std::string& /*schema*/, const std::string& name) const override {
        return '`' + name + '`';
    }
    std::string drop_index(const std::string& name, const std::string& table_name) const override {
        return "DROP INDEX `" + name + "` ON `" + table_name + "`";
    }
    std::string placeholder(int /*number*/) const override { return "?"; }
    std::string bytes_type() const override { return "blob"; }
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

private:
    MariadbDatabase database_;
    OpenOptions options_;
    std::unique_ptr<Store> store_;
};

Backend backend() {
    return {.name = "Mariadb", .make = [](const OpenOptions& options) {
                return std::make_unique<MariadbSandbox>(MariadbServer(), options);
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

}  // namespace

namespace on_mysql {
namespace {
POSTROOM_STORE_LAWS(mysql_backend());
POSTROOM_DISPATCHER_LAWS(mysql_backend());
POSTROOM_LAW(DoorbellPerQueueLaw, both_queues_of(mysql_backend()));
POSTROOM_SQL_LAWS(mysql_backend());
}  // namespace
}  // namespace on_mysql

}  // namespace postroom::test
