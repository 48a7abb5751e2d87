#include "chaos/mysql/database.hpp"

#include <fmt/format.h>

namespace postroom::test {

std::vector<std::string> MariadbChaosDatabase::damage() {
    std::vector<std::string> lines;
    for (const auto& table : sql("SHOW FULL TABLES WHERE table_type = 'BASE TABLE'")) {
        // Columns: table, operation, kind of the word, word.
        for (const auto& row : sql(fmt::format("CHECK TABLE `{}` EXTENDED", table.at(0).value())))
            if (row.at(3) != "OK")
                lines.push_back(
                    fmt::format("{}: {}", row.at(0).value_or(""), row.at(3).value_or("")));
    }
    return lines;
}

namespace {

POSTROOM_CHAOS_SUITES((ChaosPlace{.name = "Mariadb", .kills = 100, .make = [] {
                                      return std::make_unique<MariadbChaosDatabase>();
                                  }}));

}  // namespace
}  // namespace postroom::test
