// Connection strings and the defaults that we add to them.
#include "backends/postgres/conninfo.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace postroom::postgres::conninfo_test {
namespace {

std::string setting(const std::string& conninfo, const std::string& keyword,
                    const OpenOptions& options = {}) {
    const Conninfo parsed(conninfo, options);
    const auto found = parsed.settings().find(keyword);
    return found == parsed.settings().end() ? "unset" : found->second;
}

TEST(PostgresConninfo, AnotherMachineIsVerifiedUnlessTheUrlSaysOtherwise) {
    EXPECT_EQ(setting("postgresql://db.example.com/shop", "sslmode"), "verify-full");
    EXPECT_EQ(setting("host=127.0.0.1,db2.example.com dbname=shop", "sslmode"), "verify-full");
    EXPECT_EQ(setting("postgresql://db.example.com/shop?sslmode=require", "sslmode"), "require");
    EXPECT_EQ(setting("postgresql://127.x.example/shop", "sslmode"), "verify-full");
    for (const char* here :
         {"postgresql://localhost/shop", "postgresql://127.0.0.1/shop", "postgresql://[::1]/shop",
          "host=/var/run/postgresql", "dbname=shop host=''"}) {
        EXPECT_EQ(setting(here, "sslmode"), "unset") << here;
    }
}

TEST(PostgresConninfo, APooledConnectionCarriesNoSessionSettings) {
    EXPECT_THAT(setting("dbname=shop", "options"), testing::HasSubstr("statement_timeout=30000"));
    EXPECT_THAT(setting("dbname=shop options='-c geqo=off'", "options"),
                testing::StartsWith("-c geqo=off -c "));
    EXPECT_EQ(setting("dbname=shop", "options", {.pooled = true}), "unset");
}

TEST(PostgresConninfo, ThePeerHoldsNoSecret) {
    const Conninfo parsed("postgresql://anna:secret@db:5433/shop?sslpassword=hidden", {});
    EXPECT_EQ(parsed.peer(), "postgresql://db:5433/shop");
}

TEST(PostgresConninfo, ThePeerOfSeveralHostsIsAUrl) {
    EXPECT_EQ(Conninfo("postgresql://db1,db2/shop", {}).settings().at("connect_timeout"), "5");
    EXPECT_EQ(Conninfo("postgresql://db1/shop", {}).settings().at("connect_timeout"), "10");
    EXPECT_EQ(Conninfo("postgresql://anna@db1:5433,db2:5434/shop", {}).peer(),
              "postgresql://db1:5433,db2:5434/shop");
    EXPECT_EQ(Conninfo("host=db1,db2 port=5433 dbname=shop", {}).peer(),
              "postgresql://db1:5433,db2:5433/shop");
    EXPECT_EQ(Conninfo("postgresql://db1,db2:5434/shop", {}).peer(),
              "postgresql://db1:5432,db2:5434/shop");
}

TEST(PostgresConninfo, AStringWithANulIsRefused) {
    EXPECT_THROW(Conninfo(std::string("postgresql://db/shop\0?sslmode=disable", 35), {}),
                 std::invalid_argument);
}

TEST(PostgresConninfo, ABadStringIsRefusedWithoutRepeatingIt) {
    try {
        const Conninfo parsed("password=secret nonsense", {});
        FAIL() << "accepted";
    } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("secret")));
        EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("nonsense")));
    }
}

}  // namespace
}  // namespace postroom::postgres::conninfo_test
