#include "chaos/mysql/database.hpp"

namespace postroom::test {

std::vector<std::string> MariadbChaosDatabase::damage() {
    std::vector<std::string> lines;
    for (const auto& table : sql("SHOW FULL TABLES WHERE table_type = 'BASE TABLE'"))
        for (std::string& line : complaints_about(*this, table.at(0).value()))
            lines.push_back(std::move(line));
    return lines;
}

namespace {

POSTROOM_CHAOS_SUITES((ChaosPlace{.name = "Mariadb", .kills = 100, .make = [] {
                                      return std::make_unique<MariadbChaosDatabase>();
                                  }}));

}  // namespace
}  // namespace postroom::test
