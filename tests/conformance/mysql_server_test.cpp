// The MySQL that the full run starts for itself: what the tests on it rely on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/mariadb_server.hpp"

namespace postroom::test {
namespace {

MariadbServer mysql_server() { return MariadbServer(servers_directory(), "mysql"); }

TEST(MysqlServer, IsMysqlWithItsOwnAuthenticationAndBinaryLog) {
    const std::string root = mysql_server().root_url();
    EXPECT_THAT(mariadb_sql(root, "SELECT version()").at(0).at(0).value(),
                testing::MatchesRegex("(8|9)\\.[0-9]+\\.[0-9]+.*"));
    EXPECT_EQ(mariadb_sql(root, "SELECT plugin FROM mysql.user WHERE user = 'postroom'"),
              (SqlRows{{"caching_sha2_password"}}));
    EXPECT_EQ(mariadb_sql(root, "SELECT @@log_bin"), (SqlRows{{"1"}}));
}

TEST(MysqlServer, TakesTlsConnectionsOnly) {
    const MariadbDatabase database(mysql_server());
    EXPECT_EQ(database.sql("SHOW STATUS LIKE 'Ssl_version'"),
              (SqlRows{{"Ssl_version", "TLSv1.3"}}));
    const std::string& url = database.url();
    EXPECT_THROW(mariadb_sql(url.substr(0, url.find('?')), "SELECT 1"), MariadbError);
}

}  // namespace
}  // namespace postroom::test
