// The routines of MariaDB and MySQL as the deployer sends them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "backends/mysql/dialect.hpp"
#include "backends/mysql/script.hpp"
#include "sql/backend.hpp"

namespace postroom::mysql::routines_test {
namespace {

// The statements that create procedures, in order.
std::vector<std::string> procedures() {
    sql::Backend backend;
    backend.dialect = make_dialect({});
    std::vector<std::string> out;
    for (const std::string& statement : split_script(sql::make_schema(backend, {})->script()))
        if (statement.starts_with("CREATE") && statement.find(" PROCEDURE ") < 30)
            out.push_back(statement);
    return out;
}

std::string name_of(const std::string& procedure) {
    std::smatch match;
    std::regex_search(procedure, match, std::regex("PROCEDURE (`[a-z_]+`)"));
    return match.str(1);
}

// Goal: whoever runs a routine that was just replaced finds those that it calls.
TEST(MysqlRoutines, AreCreatedBeforeThoseThatCallThem) {
    static const std::regex calls("CALL (`[a-z_]+`)");
    std::set<std::string> there;
    for (const std::string& procedure : procedures()) {
        for (std::sregex_iterator at(procedure.begin(), procedure.end(), calls), end; at != end;
             ++at)
            EXPECT_TRUE(there.contains(at->str(1)))
                << name_of(procedure) << " calls " << at->str(1) << ", which comes later";
        there.insert(name_of(procedure));
    }
    EXPECT_GT(there.size(), 100U);
}

TEST(MysqlRoutines, FitOnAScreen) {
    for (const std::string& procedure : procedures())
        EXPECT_LE(std::ranges::count(procedure, '\n') + 1, 80) << name_of(procedure);
}

}  // namespace
}  // namespace postroom::mysql::routines_test
