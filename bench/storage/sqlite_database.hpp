// A thin owner of one SQLite database file and its cached statements. Any error ends the program.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <unordered_map>

namespace bench {

class Database {
public:
    explicit Database(const std::string& path) {
        sqlite3* opened = nullptr;
        const int code = sqlite3_open(path.c_str(), &opened);
        database_.reset(opened);
        check(code, path);
        execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    }

    void execute(const std::string& sql) {
        check(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr), sql);
    }

    // Runs a cached statement with integer parameters; `on_row` is called for every row.
    template <typename OnRow>
    void run(const std::string& sql, std::initializer_list<std::int64_t> parameters, OnRow on_row) {
        sqlite3_stmt* statement = cached(sql);
        int index = 0;
        for (const auto parameter : parameters)
            check(sqlite3_bind_int64(statement, ++index, parameter), sql);
        int code = SQLITE_ROW;
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) on_row(statement);
        if (code != SQLITE_DONE) check(code, sql);
        check(sqlite3_reset(statement), sql);
    }
    void run(const std::string& sql, std::initializer_list<std::int64_t> parameters = {}) {
        run(sql, parameters, [](sqlite3_stmt*) {});
    }

private:
    struct Closer {
        void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
    };
    struct Finalizer {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };

    sqlite3_stmt* cached(const std::string& sql) {
        auto& slot = statements_[sql];
        if (!slot) {
            sqlite3_stmt* prepared = nullptr;
            check(sqlite3_prepare_v3(database_.get(), sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT,
                                     &prepared, nullptr),
                  sql);
            slot.reset(prepared);
        }
        return slot.get();
    }
    void check(int code, const std::string& what) {
        if (code == SQLITE_OK) return;
        std::fprintf(stderr, "%s: %s\n", what.c_str(), sqlite3_errmsg(database_.get()));
        std::exit(1);
    }

    std::unique_ptr<sqlite3, Closer> database_;
    std::unordered_map<std::string, std::unique_ptr<sqlite3_stmt, Finalizer>> statements_;
};

}  // namespace bench
