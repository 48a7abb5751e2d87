#include "chaos/postgres/database.hpp"

namespace postroom::test {

std::vector<std::string> postgres_damage(ChaosDatabase& database) {
    std::vector<std::string> lines;
    const auto sql = [&](const std::string& text) { return database.sql(text); };
    sql("CREATE EXTENSION IF NOT EXISTS amcheck");
    const std::string names =
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = "
        "c.relnamespace "
        "WHERE n.nspname = 'infra' AND ";
    // bt_index_check says nothing or throws; verify_heapam returns a row for each complaint.
    const auto check = [&](const std::string& query, bool rows_are_complaints) {
        try {
            const SqlRows rows = sql(query);
            if (!rows_are_complaints) return;
            for (const auto& row : rows) lines.push_back(row.at(0).value_or("damaged"));
        } catch (const SqlError& error) {
            lines.push_back(error.what());
        }
    };
    for (const auto& row :
         sql(names +
             "c.relkind = 'i' AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'btree')"))
        check("SELECT bt_index_check('" + row.at(0).value() + "', true)", false);
    for (const auto& row : sql(names + "c.relkind = 'r'"))
        check("SELECT msg FROM verify_heapam('" + row.at(0).value() + "')", true);
    return lines;
}

namespace {

POSTROOM_CHAOS_SUITES((ChaosPlace{.name = "Postgres", .kills = 100, .make = [] {
                                      return std::make_unique<PostgresChaosDatabase>();
                                  }}));

}  // namespace
}  // namespace postroom::test
