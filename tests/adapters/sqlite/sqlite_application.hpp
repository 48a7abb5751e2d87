// SqliteFile: a file with the program's table and an outbox in it.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "adapters/application.hpp"
#include "postroom/backend/sqlite.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {

// A raw connection.
class SqliteConnection {
public:
    explicit SqliteConnection(const std::string& path) {
        if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) {
            throw std::runtime_error("cannot open " + path);
        }
        sqlite3_busy_timeout(handle_, 10'000);
    }
    ~SqliteConnection() { sqlite3_close(handle_); }
    SqliteConnection(const SqliteConnection&) = delete;
    SqliteConnection& operator=(const SqliteConnection&) = delete;

    sqlite3* handle() const { return handle_; }

    void run(const std::string& sql) const {
        if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
            throw std::runtime_error(sqlite3_errmsg(handle_));
        }
    }

    std::size_t count(const std::string& table) const {
        std::size_t rows = 0;
        const auto read = [](void* out, int, char** cells, char**) {
            *static_cast<std::size_t*>(out) = std::stoul(cells[0]);
            return 0;
        };
        const std::string sql = "SELECT count(*) FROM " + table;
        if (sqlite3_exec(handle_, sql.c_str(), read, &rows, nullptr) != SQLITE_OK) {
            throw std::runtime_error(sqlite3_errmsg(handle_));
        }
        return rows;
    }

private:
    sqlite3* handle_ = nullptr;
};

class SqliteFile {
public:
    SqliteFile() { observer_.run("CREATE TABLE orders (name TEXT NOT NULL)"); }

    std::string path() const { return (directory_ / "shop.db").string(); }
    Store& store() { return *store_; }
    std::size_t orders() const { return observer_.count("orders"); }

private:
    TempDir directory_;
    std::unique_ptr<Store> store_ = sqlite::open_store(path(), {.deploy_schema = true});
    SqliteConnection observer_{path()};
};

}  // namespace postroom::test
