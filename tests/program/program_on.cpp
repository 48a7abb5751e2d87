#include "program/program_on.hpp"

#include <algorithm>

#include <sqlite3.h>

#include <csignal>

#include "support/wait_until.hpp"

namespace postroom::test {

namespace {

constexpr std::chrono::seconds program_patience{90};

SqlRows sqlite_sql(const std::string& path, const std::string& text) {
    sqlite3* opened = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &opened), SQLITE_OK);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> connection(opened, &sqlite3_close);
    sqlite3_busy_timeout(opened, 60'000);
    SqlRows rows;
    const auto take = [](void* out, int count, char** values, char**) {
        std::vector<std::optional<std::string>> row;
        for (int i = 0; i < count; ++i)
            row.push_back(values[i] == nullptr ? std::nullopt
                                               : std::optional<std::string>(values[i]));
        static_cast<SqlRows*>(out)->push_back(std::move(row));
        return 0;
    };
    char* error = nullptr;
    const int code = sqlite3_exec(opened, text.c_str(), take, &rows, &error);
    EXPECT_EQ(code, SQLITE_OK) << (error == nullptr ? "" : error) << " in " << text;
    sqlite3_free(error);
    return rows;
}

}  // namespace

void ProgramOn::SetUp() {
    if (on("postgres")) {
        postgres_ = std::make_unique<PostgresDatabase>();
        folder.set("POSTROOM_URL", postgres_->url());
#ifdef POSTROOM_TEST_MYSQL
    } else if (on("mariadb")) {
        mariadb_ = std::make_unique<MariadbDatabase>();
        folder.set("POSTROOM_URL", mariadb_->url());
#endif
    } else {
        folder.write("shop.db", "");  // an empty database
        folder.set("POSTROOM_URL", "sqlite:shop.db");
    }
}

std::string ProgramOn::url() const {
    if (postgres_) return postgres_->url();
#ifdef POSTROOM_TEST_MYSQL
    if (mariadb_) return mariadb_->url();
#endif
    return "sqlite:" + (folder / "shop.db").string();
}

SqlRows ProgramOn::sql(const std::string& text) const {
    if (postgres_) return postgres_->psql(text);
#ifdef POSTROOM_TEST_MYSQL
    if (mariadb_) return mariadb_->sql(text);
#endif
    return sqlite_sql((folder / "shop.db").string(), text);
}

std::string ProgramOn::one_value(const std::string& query) const {
    const SqlRows rows = sql(query);
    return rows.empty() ? "no row" : rows.front().front().value_or("NULL");
}

SqlRows ProgramOn::objects() const {
    if (on("postgres")) {
        return sql(
            "SELECT n.nspname, o.name FROM pg_namespace n LEFT JOIN ("
            "SELECT relnamespace AS space, relname::text AS name FROM pg_class UNION ALL "
            "SELECT pronamespace, proname::text FROM pg_proc) o ON o.space = n.oid "
            "WHERE n.nspname !~ '^(pg_|information_schema)' ORDER BY 1, 2");
    }
    if (on("mariadb")) {
        return sql(
            "SELECT TABLE_NAME AS name FROM information_schema.TABLES "
            "WHERE TABLE_SCHEMA = DATABASE() UNION ALL "
            "SELECT ROUTINE_NAME FROM information_schema.ROUTINES "
            "WHERE ROUTINE_SCHEMA = DATABASE() ORDER BY 1");
    }
    return sql("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY 1");
}

std::string ProgramOn::enqueue(const std::string& topic,
                               const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"enqueue", topic, "--payload", "{}", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return text_member(folder.good(arguments), "id");
}

bool ProgramOn::wait_for_log(const std::string& part, std::size_t times) const {
    return wait_until([&] { return count_of(folder.read("err"), part) >= times; },
                      program_patience);
}

bool ProgramOn::stop(ChildProcess& child) {
    child.kill(SIGTERM);
    const std::optional<ExitStatus> status = child.wait(program_patience);
    return status && status->success();
}

std::string ProgramOn::enqueue_dead(const std::string& topic) const {
    const std::string id = enqueue(topic);
    ChildProcess relay = folder.start({"relay", "--set", "relay.unroutable=dead", "--set",
                                       "routes.0.topic=nothing", "--set", "routes.0.sink=stdout"});
    EXPECT_TRUE(wait_for_log("OUTBOX_WORKER_DEAD"));
    EXPECT_TRUE(stop(relay));
    return id;
}

std::size_t ProgramOn::listed(const std::vector<std::string>& filter) const {
    std::vector<std::string> arguments{"list", "--json", "--limit", "10000"};
    arguments.insert(arguments.end(), filter.begin(), filter.end());
    if (std::find(filter.begin(), filter.end(), "--state") == filter.end())
        arguments.insert(arguments.end(), {"--state", "all"});
    return count_of(folder.good(arguments), "\"id\":");
}

}  // namespace postroom::test
