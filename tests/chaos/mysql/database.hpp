// The chaos tests on MariaDB: a database of its own on the server of the test run, or on a given
// one.
#pragma once

#include "chaos/chaos_test.hpp"
#include "support/mariadb_server.hpp"

namespace postroom::test {

inline constexpr const char* mariadb_sessions_sql =
    "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND "
    "id <> CONNECTION_ID()";

// What the server's check of the table complains about. A record that is deleted, and that the
// server's own cleaning up has not come to yet, is no damage.
inline std::vector<std::string> complaints_about(ChaosDatabase& database, const std::string& name) {
    std::vector<std::string> lines;
    // Columns: table, operation, kind of the word, word.
    for (const auto& row : database.sql("CHECK TABLE `" + name + "` EXTENDED")) {
        const std::string word = row.at(3).value_or("");
        if (word != "OK" && !word.starts_with("InnoDB: Unpurged"))
            lines.push_back(name + ": " + word);
    }
    return lines;
}

class MariadbChaosDatabase final : public ChaosDatabase {
public:
    explicit MariadbChaosDatabase(MariadbServer server = MariadbServer())
        : database_(std::move(server)) {}

    const std::string& url() const override { return database_.url(); }
    const std::string& name() const { return database_.name(); }
    SqlRows sql(const std::string& text) override { return database_.sql(text); }
    std::string table(const std::string& name) const override { return '`' + name + '`'; }

    // Checks every page of every table, and every index against its table.
    std::vector<std::string> damage() override;

private:
    std::uint64_t sessions() override { return count(mariadb_sessions_sql); }

    MariadbDatabase database_;
};

}  // namespace postroom::test
