// The chaos tests on PostgreSQL: a database of its own on the server of the test run, or on a given
// one.
#pragma once

#include "chaos/chaos_test.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test {

// Checks every heap page, and every index against its table.
std::vector<std::string> postgres_damage(ChaosDatabase& database);

class PostgresChaosDatabase final : public ChaosDatabase {
public:
    explicit PostgresChaosDatabase(PostgresServer server = PostgresServer())
        : database_(std::move(server)) {}

    const std::string& url() const override { return database_.url(); }
    SqlRows sql(const std::string& text) override { return database_.psql(text); }
    std::string table(const std::string& name) const override { return "infra.\"" + name + '"'; }
    std::vector<std::string> damage() override { return postgres_damage(*this); }

private:
    std::uint64_t sessions() override {
        return count(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
            "backend_type = 'client backend' AND pid <> pg_backend_pid()");
    }

    PostgresDatabase database_;
};

}  // namespace postroom::test
