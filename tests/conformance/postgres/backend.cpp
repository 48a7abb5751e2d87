// The laws on PostgreSQL, one database per test: directly, through PgBouncer, and through the SQL
// functions.
#include "postroom/backend/postgres.hpp"

#include <libpq-fe.h>

#include <stdexcept>
#include <thread>

#include "conformance/dispatcher_law.hpp"
#include "conformance/postgres/function_store.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test {
namespace {

// Somebody's own transaction, rolled back when the test does not commit it.
class BorrowedTransaction final : public TxContext {
public:
    explicit BorrowedTransaction(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
        PQclear(PQexec(connection_, "BEGIN"));
        if (PQtransactionStatus(connection_) != PQTRANS_INTRANS)
            throw std::runtime_error(PQerrorMessage(connection_));
        context_ = postgres::borrow(connection_);
    }
    ~BorrowedTransaction() override {
        context_.reset();
        PQfinish(connection_);
    }
    bool in_transaction() const override { return context_->in_transaction(); }
    SqlRows execute(const SqlStatement& statement) override { return context_->execute(statement); }
    bool reports_end() const override { return context_->reports_end(); }
    void after_commit(std::function<void()> callback) override {
        context_->after_commit(std::move(callback));
    }
    void after_rollback(std::function<void()> callback) override {
        context_->after_rollback(std::move(callback));
    }

private:
    PGconn* connection_;
    std::unique_ptr<TxContext> context_;
};

// Deploying takes longer than most tests do afterwards, so their databases are copies of one in
// which it was done.
std::string deployed(const OpenOptions& options) {
    const PostgresServer server;
    if (!options.deploy_schema) return "template0";
    return server.original(
        postgres::open_schema(server.url("postgres"), options)->script(),
        [&](const std::string& url) { postgres::open_schema(url, options)->deploy(); });
}

class PostgresSandbox : public SqlSandbox {
public:
    explicit PostgresSandbox(const OpenOptions& options)
        : database_(PostgresServer(), deployed(options)), options_(options) {
        store_ = postgres::open_store(database_.url(), options_);
        options_.deploy_schema = false;
    }

    Store& store() override { return *store_; }
    std::unique_ptr<Store> reopen() override { return reopen_with(options_); }
    void pass(Duration duration) override { std::this_thread::sleep_for(duration); }
    SqlRows sql(const std::string& text) override { return database_.psql(text); }
    std::unique_ptr<Store> reopen_with(const OpenOptions& options) override {
        return postgres::open_store(database_.url(), options);
    }
    std::unique_ptr<Schema> schema(const OpenOptions& options) override {
        return postgres::open_schema(database_.url(), options);
    }
    std::unique_ptr<TxContext> borrowed() override {
        return std::make_unique<BorrowedTransaction>(database_.url());
    }
    std::string table(const std::string& schema, const std::string& name) const override {
        return schema + "." + name;
    }
    std::string placeholder(int number) const override { return "$" + std::to_string(number); }
    std::string bytes_type() const override { return "bytea"; }
    std::vector<std::string> objects() override {
        std::vector<std::string> names;
        for (const auto& row : sql("SELECT c.relname FROM pg_class c JOIN pg_namespace n "
                                   "ON n.oid = c.relnamespace "
                                   "WHERE n.nspname !~ '^(pg_|information_schema)' "
                                   "UNION ALL SELECT p.proname FROM pg_proc p JOIN pg_namespace n "
                                   "ON n.oid = p.pronamespace "
                                   "WHERE n.nspname !~ '^(pg_|information_schema)'"))
            names.push_back(row.at(0).value());
        return names;
    }

protected:
    const PostgresDatabase& database() const { return database_; }
    const OpenOptions& options() const { return options_; }

private:
    PostgresDatabase database_;
    OpenOptions options_;
    std::unique_ptr<Store> store_;
};

// The schema is deployed directly, as one would; all else goes through the pooler.
class PooledSandbox final : public PostgresSandbox {
public:
    explicit PooledSandbox(const OpenOptions& options)
        : PostgresSandbox(options), pooled_(reopen()) {}

    Store& store() override { return *pooled_; }
    std::unique_ptr<Store> reopen() override {
        OpenOptions pooled = options();
        pooled.pooled = true;
        return postgres::open_store(database().via_pgbouncer_url(), pooled);
    }

private:
    std::unique_ptr<Store> pooled_;
};

class FunctionSandbox final : public PostgresSandbox {
public:
    explicit FunctionSandbox(const OpenOptions& options)
        : PostgresSandbox(options), store_(PostgresSandbox::store(), database().url()) {}

    Store& store() override { return store_; }

private:
    FunctionStore store_;
};

template <class AnySandbox>
Backend backend(std::string name) {
    return {.name = std::move(name), .make = [](const OpenOptions& options) {
                return std::make_unique<AnySandbox>(options);
            }};
}

POSTROOM_STORE_LAWS(backend<PostgresSandbox>("Postgres"));
POSTROOM_DISPATCHER_LAWS(backend<PostgresSandbox>("Postgres"));
POSTROOM_LAW(DoorbellPerQueueLaw, both_queues_of(backend<PostgresSandbox>("Postgres")));
POSTROOM_SQL_LAWS(backend<PostgresSandbox>("Postgres"));

}  // namespace

namespace pgbouncer {
namespace {
POSTROOM_WORK_LAWS(backend<PooledSandbox>("PgBouncer"));
POSTROOM_DISPATCHER_LAWS(backend<PooledSandbox>("PgBouncer"));
}  // namespace
}  // namespace pgbouncer

namespace functions {
namespace {
POSTROOM_WORK_LAWS(backend<FunctionSandbox>("PostgresFunctions"));
}  // namespace
}  // namespace functions

}  // namespace postroom::test
