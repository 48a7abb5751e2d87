#include <sqlite3.h>

#include <fstream>
#include <string>

#include "suite/engines/engine.hpp"
#include "suite/floors/sqlite_floor.hpp"
#include "support/temp_dir.hpp"

namespace bench {
namespace {

constexpr std::string_view scheme = "sqlite:";

class SqliteEngine final : public Engine {
public:
    std::string name() const override { return "sqlite"; }
    std::string about() override {
        return std::string("SQLite ") + sqlite3_libversion() + ", WAL, synchronous FULL";
    }

    std::string fresh_database() override {
        const std::string file = "bench-" + std::to_string(++files_) + ".db";
        return std::string(scheme) + (directory_ / file).string();
    }
    std::unique_ptr<Floor> floor(const std::string& url) override {
        return make_sqlite_floor(url.substr(scheme.size()));
    }

    double server_cpu() override { return 0; }
    // What this process has written: there is no counter for the log alone.
    double log_bytes() override {
        std::ifstream file("/proc/self/io");
        std::string name;
        for (double value = 0; file >> name >> value;) {
            if (name == "wchar:") return value;
        }
        return 0;
    }

    void settle(const std::string&) override {}
    bool concurrent_writers() const override { return false; }

private:
    postroom::test::TempDir directory_;
    int files_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_sqlite() { return std::make_unique<SqliteEngine>(); }

}  // namespace bench
