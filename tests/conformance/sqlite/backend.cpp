// The laws on SQLite, one file per test.
#include "postroom/backend/sqlite.hpp"

#include <sqlite3.h>

#include <stdexcept>
#include <thread>

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

// Somebody's own transaction, rolled back when the test does not commit it.
class BorrowedTransaction final : public TxContext {
public:
    explicit BorrowedTransaction(const std::string& path)
        : database_(path), context_(sqlite::borrow(database_.handle())) {
        database_.run("BEGIN IMMEDIATE");
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
    Database database_;
    std::unique_ptr<TxContext> context_;
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
    void pass(Duration duration) override { std::this_thread::sleep_for(duration); }
    SqlRows sql(const std::string& text) override { return Database(path_).run(text); }
    std::unique_ptr<Store> reopen_with(const OpenOptions& options) override {
        return sqlite::open_store(path_, options);
    }
    std::unique_ptr<Schema> schema(const OpenOptions& options) override {
        return sqlite::open_schema(path_, options);
    }
    std::unique_ptr<TxContext> borrowed() override {
        return std::make_unique<BorrowedTransaction>(path_);
    }
    // SQLite has no schemas.
    std::string table(const std::string& /*schema*/, const std::string& name) const override {
        return '"' + name + '"';
    }
    std::string placeholder(int number) const override { return "?" + std::to_string(number); }
    std::string bytes_type() const override { return "blob"; }
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

}  // namespace
}  // namespace postroom::test
