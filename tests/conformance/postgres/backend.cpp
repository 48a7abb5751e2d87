// The laws on PostgreSQL, one database per test: directly, through PgBouncer, with the rights of a
// worker and no more, and through the SQL functions.
#include "postroom/backend/postgres.hpp"

#include <libpq-fe.h>

#include <stdexcept>

#include "conformance/audit_law.hpp"
#include "conformance/borrowed_transaction.hpp"
#include "conformance/dispatcher_law.hpp"
#include "conformance/postgres/function_store.hpp"
#include "conformance/postgres/roles.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test {
namespace {

class OpenSession {
public:
    explicit OpenSession(const std::string& url)
        : connection_(PQconnectdb(url.c_str()), &PQfinish) {
        PQclear(PQexec(connection_.get(), "BEGIN"));
        if (PQtransactionStatus(connection_.get()) != PQTRANS_INTRANS)
            throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    std::unique_ptr<TxContext> borrow() { return postgres::borrow(connection_.get()); }

private:
    std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
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
        : PostgresSandbox(options, deployed(options)) {}
    // In a copy of the database `original`.
    PostgresSandbox(const OpenOptions& options, const std::string& original)
        : database_(PostgresServer(), original), options_(options) {
        store_ = postgres::open_store(database_.url(), options_);
        options_.deploy_schema = false;
    }

    Store& store() override { return *store_; }
    std::unique_ptr<Store> reopen() override { return reopen_with(options_); }
    SqlRows sql(const std::string& text) override { return database_.psql(text); }
    std::string url() const override { return database_.url(); }
    std::unique_ptr<Store> reopen_with(const OpenOptions& options) override {
        return postgres::open_store(database_.url(), options);
    }
    std::unique_ptr<Schema> schema(const OpenOptions& options) override {
        return postgres::open_schema(database_.url(), options);
    }
    RunNatively native_handle(Transaction& tx) override {
        return [handle = postgres::handle(tx)](const std::string& statement) {
            PGresult* const result = PQexec(handle, statement.c_str());
            const bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
            PQclear(result);
            if (!done) throw std::runtime_error(PQerrorMessage(handle));
        };
    }
    std::unique_ptr<TxContext> borrowed() override {
        return std::make_unique<BorrowedTransaction<OpenSession>>(database_.url());
    }
    std::string table(const std::string& schema, const std::string& name) const override {
        return schema + "." + name;
    }
    std::string placeholder(int number) const override { return "$" + std::to_string(number); }
    std::string bytes_type() const override { return "bytea"; }
    std::string seconds_ago(const std::string& seconds) const override {
        return "statement_timestamp() - (" + seconds + ") * interval '1 second'";
    }
    std::string number_from(std::uint64_t seq) const override {
        return "SELECT setval('infra.outbox_number', " + std::to_string(seq) + ", false)";
    }
    std::string row_dropper(const std::string& table_name) const override {
        return "CREATE OR REPLACE FUNCTION drop_some() RETURNS trigger LANGUAGE plpgsql AS "
               "'BEGIN IF NEW.topic = ''dropped'' THEN RETURN NULL; END IF; RETURN NEW; END'; "
               "CREATE TRIGGER drop_some BEFORE INSERT ON " +
               table_name + " FOR EACH ROW EXECUTE FUNCTION drop_some()";
    }
    void gather_statistics() override { sql("VACUUM ANALYZE"); }
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

// Deployed by the migrator; the store works with the rights of a worker.
class WorkerSandbox final : public PostgresSandbox {
public:
    explicit WorkerSandbox(const OpenOptions& options)
        : PostgresSandbox(options, granted_database(PostgresServer(), options)),
          worker_(reopen()) {}

    Store& store() override { return *worker_; }
    std::unique_ptr<Store> reopen_with(const OpenOptions& options) override {
        return postgres::open_store(url_as(database().url(), "postroom_worker"), options);
    }

private:
    std::unique_ptr<Store> worker_;
};

class FunctionSandbox final : public PostgresSandbox {
public:
    explicit FunctionSandbox(const OpenOptions& options)
        : PostgresSandbox(options), store_(PostgresSandbox::store()) {}

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
POSTROOM_LAW(PlainKeyLaw, outbox_of(backend<PostgresSandbox>("Postgres")));
POSTROOM_LAW(DroppedRowsLaw, outbox_of(backend<PostgresSandbox>("Postgres")));
POSTROOM_LAW(AuditLaw, outbox_of(backend<PostgresSandbox>("Postgres")));
POSTROOM_LAW(UpkeepLaw, both_queues_of(backend<PostgresSandbox>("Postgres")));
POSTROOM_LAW(RowLockLaw, outbox_of(backend<PostgresSandbox>("Postgres")));

}  // namespace

namespace pgbouncer {
namespace {
POSTROOM_WORK_LAWS(backend<PooledSandbox>("PgBouncer"));
POSTROOM_DISPATCHER_LAWS(backend<PooledSandbox>("PgBouncer"));
}  // namespace
}  // namespace pgbouncer

namespace worker_role {
namespace {
POSTROOM_WORK_LAWS(backend<WorkerSandbox>("PostgresWorker"));
}  // namespace
}  // namespace worker_role

namespace functions {
namespace {
POSTROOM_WORK_LAWS(backend<FunctionSandbox>("PostgresFunctions"));
}  // namespace
}  // namespace functions

}  // namespace postroom::test
