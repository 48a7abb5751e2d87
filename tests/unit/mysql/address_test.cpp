// URLs of MariaDB and MySQL.
#include "backends/mysql/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace postroom::mysql::address_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> hosts_of(const Address& address) {
    std::vector<std::string> texts;
    for (const Host& host : address.hosts) texts.push_back(host.text());
    return texts;
}

TEST(MysqlAddress, AUrlSaysEverything) {
    const Address address = Address::parse(
        "mysql://an%3Ana:p%40ss%2F@db.example.com:3307/shop?ssl-ca=/etc/"
        "ca.pem&ssl-cert=c&ssl-key=k");
    EXPECT_EQ(address.user, "an:na");
    EXPECT_EQ(address.password, "p@ss/");
    EXPECT_THAT(hosts_of(address), ElementsAre("db.example.com:3307"));
    EXPECT_EQ(address.database, "shop");
    EXPECT_EQ(address.ca_file, "/etc/ca.pem");
    EXPECT_EQ(address.certificate_file, "c");
    EXPECT_EQ(address.key_file, "k");
}

TEST(MysqlAddress, LittleIsEnough) {
    EXPECT_THAT(hosts_of(Address::parse("mariadb:///shop")), ElementsAre("127.0.0.1:3306"));
    const Address ipv6 = Address::parse("mysql://[2001:db8::1]:3307/shop");
    EXPECT_EQ(ipv6.hosts.at(0).name, "2001:db8::1");
    EXPECT_EQ(ipv6.hosts.at(0).port, 3307);
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

TEST(MysqlAddress, SeveralHostsAreTakenInTheirOrder) {
    const Address address = Address::parse("mysql://anna:se,cret@db1:3307,db2,[2001:db8::1]/shop");
    EXPECT_EQ(address.password, "se,cret");
    EXPECT_THAT(hosts_of(address), ElementsAre("db1:3307", "db2:3306", "[2001:db8::1]:3306"));
    EXPECT_EQ(address.peer(), "mysql://db1:3307,db2:3306,[2001:db8::1]:3306/shop");
}

TEST(MysqlAddress, OneHostElsewhereIsEnoughForTlsToAllOfThem) {
    EXPECT_EQ(Address::parse("mysql://127.0.0.1,db2/shop").tls, Tls::verified);
    EXPECT_EQ(Address::parse("mysql://db1,127.0.0.1/shop").tls, Tls::verified);
    EXPECT_EQ(Address::parse("mysql://127.0.0.1,localhost:3307/shop").tls, Tls::disabled);
    EXPECT_EQ(Address::parse("mysql://127.0.0.1,db2/shop?ssl-mode=required").tls, Tls::required);
}

TEST(MysqlAddress, ABadHostOfSeveralIsNamedByItsPlace) {
    const auto words_for = [](const std::string& url) -> std::string {
        try {
            Address::parse(url);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "taken";
    };
    EXPECT_EQ(words_for("mysql://a,b:x/shop"),
              "url: host 2: the port is not a number from 1 to 65535");
    EXPECT_EQ(words_for("mysql://a:0,b/shop"),
              "url: host 1: the port is not a number from 1 to 65535");
    EXPECT_EQ(words_for("mysql://a,,b/shop"), "url: host 2: it has no name");
    EXPECT_EQ(words_for("mysql://,b/shop"), "url: host 1: it has no name");
    EXPECT_EQ(words_for("mysql://a,b,/shop"), "url: host 3: it has no name");
    EXPECT_EQ(words_for("mysql://a,:3307/shop"), "url: host 2: it has no name");
    EXPECT_EQ(words_for("mysql://a,[::1/shop"), "url: host 2: a '[' needs its ']'");
    EXPECT_THAT(words_for("mysql://a,b/shop?socket=/run/s"), HasSubstr("socket"));
    std::string many = "h";
    for (int i = 1; i < 16; ++i) many += ",h";
    EXPECT_EQ(words_for("mysql://" + many + "/shop"), "taken");
    EXPECT_EQ(words_for("mysql://" + many + ",h/shop"), "url: host 17: at most 16 can be given");
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
            EXPECT_THAT(error.what(), testing::Not(HasSubstr("secret"))) << url;
        }
    }
}

}  // namespace
}  // namespace postroom::mysql::address_test
