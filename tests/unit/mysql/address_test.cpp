// URLs of MariaDB and MySQL.
#include "backends/mysql/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace postroom::mysql::address_test {
namespace {

TEST(MysqlAddress, AUrlSaysEverything) {
    const Address address = Address::parse(
        "mysql://an%3Ana:p%40ss%2F@db.example.com:3307/shop?ssl-ca=/etc/"
        "ca.pem&ssl-cert=c&ssl-key=k");
    EXPECT_EQ(address.user, "an:na");
    EXPECT_EQ(address.password, "p@ss/");
    EXPECT_EQ(address.host, "db.example.com");
    EXPECT_EQ(address.port, 3307);
    EXPECT_EQ(address.database, "shop");
    EXPECT_EQ(address.ca_file, "/etc/ca.pem");
    EXPECT_EQ(address.certificate_file, "c");
    EXPECT_EQ(address.key_file, "k");
}

TEST(MysqlAddress, LittleIsEnough) {
    const Address address = Address::parse("mariadb:///shop");
    EXPECT_EQ(address.host, "127.0.0.1");
    EXPECT_EQ(address.port, 3306);
    EXPECT_EQ(Address::parse("mysql://[2001:db8::1]:3307/shop").host, "2001:db8::1");
    EXPECT_EQ(Address::parse("mysql://[::1]:3307/shop").port, 3307);
    EXPECT_EQ(Address::parse("mysql:///shop?socket=/run/my.sock").socket, "/run/my.sock");
}

TEST(MysqlAddress, AnotherMachineIsVerifiedUnlessTheUrlSaysOtherwise) {
    EXPECT_EQ(Address::parse("mysql://db.example.com/shop").tls, Tls::verified);
    EXPECT_EQ(Address::parse("mysql://10.0.0.7/shop").tls, Tls::verified);
    EXPECT_EQ(Address::parse("mysql://127.x.example/shop").tls, Tls::verified);
    EXPECT_EQ(Address::parse("mysql://localhost.example.com/shop").tls, Tls::verified);
    EXPECT_EQ(Address::parse("mysql://db.example.com/shop?ssl-mode=required").tls, Tls::required);
    EXPECT_EQ(Address::parse("mysql://db.example.com/shop?ssl-mode=disabled").tls, Tls::disabled);
    for (const char* here : {"mysql://localhost/shop", "mysql://127.0.0.1/shop",
                             "mysql://[::1]/shop", "mysql:///shop?socket=/run/my.sock"})
        EXPECT_EQ(Address::parse(here).tls, Tls::disabled) << here;
    EXPECT_EQ(Address::parse("mysql://127.0.0.1/shop?ssl-ca=ca.pem").tls, Tls::verified);
}

TEST(MysqlAddress, ThePeerHoldsNoSecret) {
    EXPECT_EQ(Address::parse("mariadb://anna:secret@db:3307/shop").peer(), "mysql://db:3307/shop");
    EXPECT_EQ(Address::parse("mysql://anna:secret@/shop?socket=/run/s").peer(),
              "mysql:/run/s/shop");
}

TEST(MysqlAddress, AHostWithANulIsRefused) {
    EXPECT_THROW(Address::parse(std::string("mysql://[::1\0.example]/shop", 27)),
                 std::invalid_argument);
    EXPECT_THROW(Address::parse("mysql://[::1%00.example]/shop"), std::invalid_argument);
}

TEST(MysqlAddress, BetweenAndBehindBracketsStandsWhatBelongsThere) {
    EXPECT_THROW(Address::parse("mysql://[]/shop"), std::invalid_argument);
    EXPECT_THROW(Address::parse("mysql://[::1]x:3307/shop"), std::invalid_argument);
}

TEST(MysqlAddress, ABadUrlIsRefusedWithoutRepeatingIt) {
    for (const char* url : {"postgresql://secret@db/shop", "mysql://u:secret@db",
                            "mysql://u:secret@db/", "mysql://u:secret@db:port/shop",
                            "mysql://u:secret@db:0/shop", "mysql://u:secret@db:99999/shop",
                            "mysql://u:secret%4@db/shop", "mysql://u:secret%zz@db/shop",
                            "mysql://u:secret%00@db/shop", "mysql://u:secret@[::1/shop",
                            "mysql://db/shop?password=secret", "mysql://db/shop?ssl-mode=secret"}) {
        try {
            Address::parse(url);
            ADD_FAILURE() << url;
        } catch (const std::invalid_argument& error) {
            EXPECT_THAT(error.what(), testing::StartsWith("url: ")) << url;
            EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("secret"))) << url;
        }
    }
}

}  // namespace
}  // namespace postroom::mysql::address_test
