// URLs of SQL Server, and what the drivers are told.
#include "backends/sqlserver/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "postroom/error.hpp"

namespace postroom::sqlserver::address_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string microsoft = "ODBC Driver 18 for SQL Server";

std::string refusal(const std::string& url) {
    try {
        Address::parse(url);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return {};
}

TEST(SqlServerAddress, AUrlSaysEverything) {
    const Address address = Address::parse(
        "sqlserver://an%3Ana:p%40ss%2F@db.example.com:1444/"
        "shop?driver=ODBC%20Driver%2018%20for%20SQL%20Server");
    EXPECT_EQ(address.user, "an:na");
    EXPECT_EQ(address.password, "p@ss/");
    EXPECT_EQ(address.host, "db.example.com");
    EXPECT_EQ(address.port, 1444);
    EXPECT_EQ(address.database, "shop");
    EXPECT_EQ(address.driver, microsoft);
    EXPECT_EQ(address.tls, Tls::verified);
    EXPECT_EQ(address.peer(), "sqlserver://db.example.com:1444/shop");
}

TEST(SqlServerAddress, WhatIsMissingHasADefault) {
    const Address address = Address::parse("sqlserver:///shop");
    EXPECT_EQ(address.host, "localhost");
    EXPECT_EQ(address.port, 1433);
    EXPECT_EQ(address.tls, Tls::disabled);
}

TEST(SqlServerAddress, BadUrlsAreRefusedWithoutTheirSecrets) {
    for (const char* const url :
         {"mysql://u:geheim@h/d", "sqlserver://u:geheim@h", "sqlserver://u:geheim@h:0/d",
          "sqlserver://u:geheim@h:x/d", "sqlserver://u:geheim@h/d?encrypt=no",
          "sqlserver://u:geheim@h/d?ssl-mode=required", "sqlserver://u:%zzgeheim@h/d",
          "sqlserver://u:geheim%00@h/d", "sqlserver://u:geheim@h/d?ssl-mode=disabled",
          "sqlserver://u:geheim@h:1433,i:1433/d", "sqlserver://u:geheim@h,1433/d"}) {
        EXPECT_THAT(refusal(url), testing::StartsWith("url: ")) << url;
        EXPECT_THAT(refusal(url), Not(HasSubstr("geheim"))) << url;
    }
}

TEST(SqlServerAddress, AnotherMachineIsNeverReachedWithoutVerification) {
    EXPECT_THAT(refusal("sqlserver://u@db.example.com/shop?ssl-mode=disabled"),
                HasSubstr("this machine only"));
    EXPECT_THAT(refusal("sqlserver://u@127.evil.example/shop?ssl-mode=disabled"),
                HasSubstr("this machine only"));
    EXPECT_EQ(refusal("sqlserver://u@127.0.0.1/shop?ssl-mode=disabled"), "");
}

TEST(SqlServerAddress, MicrosoftsDriverVerifies) {
    const Address away = Address::parse("sqlserver://u:p@db.example.com/shop");
    EXPECT_THAT(connection_string(away, microsoft, ""),
                HasSubstr("Encrypt=yes;TrustServerCertificate=no"));
    const Address here = Address::parse("sqlserver://u:p@localhost/shop");
    EXPECT_THAT(connection_string(here, microsoft, ""), HasSubstr("Encrypt=no"));
    const Address asked = Address::parse("sqlserver://u:p@localhost/shop?ssl-mode=verify");
    EXPECT_THAT(connection_string(asked, microsoft, ""), HasSubstr("Encrypt=yes"));
}

constexpr const char* verifying = R"(
[global]
    tds version = 7.4
[Production]
    host = db.example.com
    port = 1433
    encryption = require
    ca file = /etc/ssl/company.pem
[careless]
    host = db.example.com
    encryption = require
[nameless]
    encryption = require
    ca file = system
    check certificate hostname = no
)";

TEST(SqlServerAddress, FreeTdsNeedsASectionThatVerifies) {
    EXPECT_TRUE(section_verifies(verifying, "production"));
    EXPECT_FALSE(section_verifies(verifying, "careless"));
    EXPECT_FALSE(section_verifies(verifying, "nameless"));
    EXPECT_FALSE(section_verifies(verifying, "nowhere"));
    EXPECT_FALSE(section_verifies("", "production"));

    const Address section = Address::parse("sqlserver://u:p@h/shop?servername=production");
    EXPECT_THAT(connection_string(section, "FreeTDS", verifying),
                HasSubstr("SERVERNAME=production;"));
    for (const char* const url :
         {"sqlserver://u:p@db.example.com/shop", "sqlserver://u:p@h/shop?servername=careless",
          "sqlserver://u:p@localhost/shop?ssl-mode=verify"}) {
        try {
            connection_string(Address::parse(url), "FreeTDS", verifying);
            FAIL() << url;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::misuse);
            EXPECT_THAT(error.what(), HasSubstr("freetds.conf"));
            EXPECT_THAT(error.what(), HasSubstr(microsoft));
        }
    }
    const Address here = Address::parse("sqlserver://u:p@localhost/shop");
    EXPECT_THAT(connection_string(here, "FreeTDS", ""), HasSubstr("SERVER=localhost;PORT=1433"));
}

TEST(SqlServerAddress, ValuesCannotAddSettings) {
    const Address address = Address::parse("sqlserver://u:a%7D%3BEncrypt%3Dno@localhost/shop");
    EXPECT_THAT(connection_string(address, microsoft, ""), HasSubstr("PWD={a}};Encrypt=no};"));
}

TEST(SqlServerAddress, TheDriverIsTheOneNamedOrTheBestThatIsThere) {
    const Address any = Address::parse("sqlserver://u@localhost/shop");
    EXPECT_EQ(driver_for(any, std::vector<std::string>{"FreeTDS", microsoft}), microsoft);
    EXPECT_EQ(driver_for(any, std::vector<std::string>{"FreeTDS"}), "FreeTDS");
    EXPECT_THROW(driver_for(any, {}), Error);
    const Address named = Address::parse("sqlserver://u@localhost/shop?driver=FreeTDS");
    EXPECT_EQ(driver_for(named, std::vector<std::string>{"FreeTDS", microsoft}), "FreeTDS");
    EXPECT_THROW(driver_for(named, std::vector<std::string>{microsoft}), Error);
}

}  // namespace
}  // namespace postroom::sqlserver::address_test
