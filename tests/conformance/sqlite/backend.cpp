// The laws on SQLite, one file per test.
#include "postroom/backend/sqlite.hpp"

#include <sqlite3.h>

#include <stdexcept>

#include "conformance/audit_law.hpp"
#include "conformance/borrowed_transaction.hpp"
#include "conformance/dispatcher_law.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {
namespace {

// A connection of the test's own.
class Database {
public:
    explicit Database(const std::string& path) {
        if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK)
            throw std::runtime_error("cannot open " + path);
        sqlite3_busy_timeout(handle_, 10'000);
    }
    ~Database() { sqlite3_close(handle_); }
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    sqlite3* handle() { return handle_; }

    SqlRows run(const std::string& text) {
        SqlRows rows;
        char* complaint = nullptr;
        const auto add = [](void* out, int count, char** cells, char**) {
            auto& row = static_cast<SqlRows*>(out)->emplace_back();
            for (int i = 0; i < count; ++i)
                row.push_back(cells[i] ? std::optional<std::string>(cells[i]) : std::nullopt);
            return 0;
        };
        if (sqlite3_exec(handle_, text.c_str(), add, &rows, &complaint) != SQLITE_OK) {
            const std::string what = complaint ? complaint : "unknown";
            sqlite3_free(complaint);
            throw std::runtime_error(what);
        }
        return rows;
    }

private:
    sqlite3* handle_ = nullptr;
};

class OpenSession {
public:
    explicit OpenSession(const std::string& path) : database_(path) {
        database_.run("BEGIN IMMEDIATE");
    }
    std::unique_ptr<TxContext> borrow() { return sqlite::borrow(database_.handle()); }

private:
    Database database_;
};

class SqliteSandbox final : public SqlSandbox {
public:
    explicit SqliteSandbox(const OpenOptions& options)
        : options_(options), path_((directory_ / "store.db").string()) {
        store_ = sqlite::open_store(path_, options_);
        options_.deploy_schema = false;
    }

    Store& store() override { return *store_; }
    std::unique_ptr<Store> reopen() override { return sqlite::open_store(path_, options_); }
    SqlRows sql(const std::string& text) override { return Database(path_).run(text); }
    std::string url() const override { return "sqlite:" + path_; }
    std::unique_ptr<Store> reopen_with(const OpenOptions& options) override {
        return sqlite::open_store(path_, options);
    }
    std::unique_ptr<Schema> schema(const OpenOptions& options) override {
        return sqlite::open_schema(path_, options);
    }
    RunNatively native_handle(Transaction& tx) override {
        return [handle = sqlite::handle(tx)](const std::string& statement) {
            if (sqlite3_exec(handle, statement.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
                throw std::runtime_error(sqlite3_errmsg(handle));
        };
    }
    std::unique_ptr<TxContext> borrowed() override {
        return std::make_unique<BorrowedTransaction<OpenSession>>(path_);
    }
    // SQLite has no schemas.
    std::string table(const std::string& /*schema*/, const std::string& name) const override {
        return '"' + name + '"';
    }
    std::string placeholder(int number) const override { return "?" + std::to_string(number); }
    std::string bytes_type() const override { return "blob"; }
    std::string seconds_ago(const std::string& seconds) const override {
        return "(CAST(strftime('%s', 'now') AS INTEGER) - (" + seconds + ")) * 1000000";
    }
    std::string number_from(std::uint64_t seq) const override {
        return "DELETE FROM sqlite_sequence WHERE name = 'outbox_live'; "
               "INSERT INTO sqlite_sequence (name, seq) VALUES ('outbox_live', " +
               std::to_string(seq - 1) + ")";
    }
    std::string row_dropper(const std::string& table_name) const override {
        return "CREATE TRIGGER \"drop of " + table_name.substr(1) + " BEFORE INSERT ON " +
               table_name + " WHEN NEW.topic = 'dropped' BEGIN SELECT RAISE(IGNORE); END";
    }
    std::vector<std::string> objects() override {
        std::vector<std::string> names;
        for (const auto& row : sql("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'"))
            names.push_back(row.at(0).value());
        return names;
    }

private:
    TempDir directory_;
    OpenOptions options_;
    std::string path_;
    std::unique_ptr<Store> store_;
};

Backend backend() {
    return {.name = "Sqlite", .make = [](const OpenOptions& options) {
                return std::make_unique<SqliteSandbox>(options);
            }};
}

POSTROOM_STORE_LAWS(backend());
POSTROOM_DISPATCHER_LAWS(backend());
POSTROOM_SQL_LAWS(backend());
POSTROOM_LAW(PlainKeyLaw, outbox_of(backend()));
POSTROOM_LAW(DroppedRowsLaw, outbox_of(backend()));
POSTROOM_LAW(AuditLaw, outbox_of(backend()));
POSTROOM_LAW(UpkeepLaw, both_queues_of(backend()));

}  // namespace
}  // namespace postroom::test
