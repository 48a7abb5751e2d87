// The laws on SQL Server, one database per test, where a user has named a server.
#include "postroom/backend/sqlserver.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

#include "conformance/borrowed_transaction.hpp"
#include "conformance/dispatcher_law.hpp"
#include "support/sqlserver_server.hpp"

namespace postroom::test {
namespace {

class OpenSession {
public:
    explicit OpenSession(const std::string& url) : session_(url) {
        session_.run("BEGIN TRANSACTION");
    }
    std::unique_ptr<TxContext> borrow() { return sqlserver::borrow(session_.handle()); }

private:
    SqlServerSession session_;
};

class SqlServerSandbox final : public SqlSandbox {
public:
    explicit SqlServerSandbox(OpenOptions options) : options_(std::move(options)) {
        // What is deployed for all has the usual names and limits.
        const bool usual = options_.limits == Limits{};
        if (options_.deploy_schema && usual)
            deployed_.emplace();
        else
            own_.emplace();
        if (options_.deploy_schema && !usual) schema(options_)->deploy();
        options_.deploy_schema = false;
        store_ = sqlserver::open_store(url(), options_);
    }

    Store& store() override { return *store_; }
    std::unique_ptr<Store> reopen() override { return reopen_with(options_); }
    SqlRows sql(const std::string& text) override {
        if (deployed_) deployed_->spoil();
        return SqlServerSession(url()).run(text);
    }
    std::string url() const override { return deployed_ ? (*deployed_)->url() : own_->url(); }
    std::unique_ptr<Store> reopen_with(const OpenOptions& options) override {
        return sqlserver::open_store(url(), options);
    }
    std::unique_ptr<Schema> schema(const OpenOptions& options) override {
        if (deployed_) deployed_->spoil();
        return sqlserver::open_schema(url(), options);
    }
    RunNatively native_handle(Transaction& tx) override {
        return [handle = sqlserver::handle(tx)](const std::string& statement) {
            SqlServerSession::run_on(handle, statement);
        };
    }
    std::unique_ptr<TxContext> borrowed() override {
        return std::make_unique<BorrowedTransaction<OpenSession>>(url());
    }
    std::string table(const std::string& schema, const std::string& name) const override {
        return "[" + schema + "].[" + name + "]";
    }
    std::string drop_index(const std::string& name, const std::string&) const override {
        return "DROP INDEX [" + name + "] ON [infra].[outbox_message]";
    }
    std::string placeholder(int /*number*/) const override { return "?"; }
    std::string bytes_type() const override { return "VARBINARY(MAX)"; }
    std::string joined(const std::vector<std::string>& parts) const override {
        return fmt::format("CONCAT({})", fmt::join(parts, ", "));
    }
    std::string seconds_ago(const std::string& seconds) const override {
        return "DATEADD(second, -(" + seconds + "), SYSUTCDATETIME())";
    }
    std::string byte_count(const std::string& column) const override {
        return "DATALENGTH(" + column + ")";
    }
    std::string payload(const std::string& text) const override {
        return "CAST('" + text + "' AS VARBINARY(MAX))";
    }
    std::string add_column(const std::string& table_name) const override {
        return "ALTER TABLE " + table_name + " ADD note NVARCHAR(100) NULL";
    }
    std::string savepoint(const std::string& name) const override {
        return "SAVE TRANSACTION " + name;
    }
    std::string begin() const override { return "BEGIN TRANSACTION"; }
    std::string roll_back_to(const std::string& name) const override {
        return "ROLLBACK TRANSACTION " + name;
    }
    std::string release(const std::string&) const override {
        return "SELECT 1";
    }  // there is no such
    std::string message_table() const override { return "outbox_message"; }
    bool one_table() const override { return true; }
    bool refuses_plain_keys() const override { return true; }
    std::vector<std::string> objects() override {
        std::vector<std::string> names;
        for (const auto& row :
             sql("SELECT o.name FROM sys.objects AS o WHERE o.type IN ('U', 'V', 'P', 'FN') AND "
                 "SCHEMA_NAME(o.schema_id) <> 'sys' AND o.is_ms_shipped = 0 UNION ALL SELECT "
                 "i.name FROM "
                 "sys.indexes AS i JOIN sys.objects AS o ON o.object_id = i.object_id WHERE o.type "
                 "= 'U' "
                 "AND o.is_ms_shipped = 0 AND i.name IS NOT NULL AND i.is_primary_key = 0"))
            names.push_back(row.at(0).value());
        return names;
    }

private:
    std::optional<SqlServerDeployed> deployed_;  // one of the two
    std::optional<SqlServerDatabase> own_;
    OpenOptions options_;
    std::unique_ptr<Store> store_;
};

Backend sqlserver_backend() {
    if (!sqlserver_url()) return {.name = "SqlServer", .make = {}};
    return {.name = "SqlServer", .make = [](const OpenOptions& options) {
                return std::make_unique<SqlServerSandbox>(options);
            }};
}

}  // namespace

namespace on_sqlserver {
namespace {
POSTROOM_STORE_LAWS(sqlserver_backend());
POSTROOM_DISPATCHER_LAWS(sqlserver_backend());
POSTROOM_LAW(DoorbellPerQueueLaw, both_queues_of(sqlserver_backend()));
POSTROOM_SQL_LAWS(sqlserver_backend());
POSTROOM_LAW(RowLockLaw, outbox_of(sqlserver_backend()));
POSTROOM_LAW(PlainKeyLaw, outbox_of(sqlserver_backend()));
}  // namespace
}  // namespace on_sqlserver

}  // namespace postroom::test
