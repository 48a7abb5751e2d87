// The chaos tests on SQLite: one file, many processes.
#include <sqlite3.h>

#include <stdexcept>

#include "chaos/chaos_test.hpp"

namespace postroom::test {
namespace {

using Rows = std::vector<std::vector<std::optional<std::string>>>;

int add_row(void* out, int count, char** cells, char**) {
    auto& row = static_cast<Rows*>(out)->emplace_back();
    for (int i = 0; i < count; ++i)
        row.push_back(cells[i] != nullptr ? std::optional<std::string>(cells[i]) : std::nullopt);
    return 0;
}

class SqliteFile final : public ChaosDatabase {
public:
    SqliteFile() : path_((folder_ / "chaos.db").string()), url_("sqlite://" + path_) {}

    const std::string& url() const override { return url_; }

    Rows sql(const std::string& text) override {
        sqlite3* handle = nullptr;
        Rows rows;
        char* complaint = nullptr;
        int code = sqlite3_open(path_.c_str(), &handle);
        if (code == SQLITE_OK) {
            sqlite3_busy_timeout(handle, 30'000);
            code = sqlite3_exec(handle, text.c_str(), add_row, &rows, &complaint);
        }
        const std::string what = complaint != nullptr ? complaint : "cannot open " + path_;
        sqlite3_free(complaint);
        sqlite3_close(handle);
        if (code != SQLITE_OK) throw std::runtime_error(what + ": " + text);
        return rows;
    }

    std::string table(const std::string& name) const override { return "\"" + name + '"'; }

    // A table gets no further constraint here.
    void refuse_topic(const std::string& topic) override {
        sql("CREATE TRIGGER refuse AFTER INSERT ON outbox_live WHEN NEW.topic = '" + topic +
            "' BEGIN SELECT RAISE(FAIL, 'refused by trigger'); END");
    }

    std::vector<std::string> damage() override {
        std::vector<std::string> lines;
        for (const auto& row : sql("PRAGMA integrity_check"))
            if (row.at(0) != "ok") lines.push_back(row.at(0).value_or("NULL"));
        return lines;
    }

private:
    TempDir folder_;
    std::string path_;
    std::string url_;
};

POSTROOM_CHAOS_SUITES((ChaosPlace{
    .name = "Sqlite", .kills = 500, .make = [] { return std::make_unique<SqliteFile>(); }}));

}  // namespace
}  // namespace postroom::test
