#include <gtest/gtest.h>

#include "sinks/http/address_guard.hpp"

namespace postroom::sink_http {
namespace {

TEST(AddressGuard, PublicAddressesAreAllowed) {
    const AddressGuard guard({});
    for (const char* text :
         {"8.8.8.8", "1.1.1.1", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.255.255",
          "100.128.0.1", "169.253.0.1", "192.167.1.1", "198.17.255.255", "223.255.255.255",
          "2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"})
        EXPECT_TRUE(guard.allows(address_from(text).value())) << text;
}

TEST(AddressGuard, EverythingElseIsRefused) {
    const AddressGuard guard({});
    for (const char* text : {"0.0.0.0",
                             "0.1.2.3",
                             "10.0.0.1",
                             "10.255.255.255",
                             "100.64.0.1",
                             "100.127.255.255",
                             "127.0.0.1",
                             "127.255.255.254",
                             "169.254.169.254",
                             "172.16.0.1",
                             "172.31.255.255",
                             "192.0.0.1",
                             "192.0.2.1",
                             "192.88.99.1",
                             "192.168.0.1",
                             "198.18.0.1",
                             "198.19.255.255",
                             "198.51.100.1",
                             "203.0.113.1",
                             "224.0.0.1",
                             "239.255.255.255",
                             "240.0.0.1",
                             "255.255.255.255",
                             "::",
                             "::1",
                             "::127.0.0.1",
                             "::ffff:127.0.0.1",
                             "::ffff:10.0.0.1",
                             "::ffff:169.254.169.254",
                             "64:ff9b::127.0.0.1",
                             "64:ff9b::10.0.0.1",
                             "64:ff9b:1::1",
                             "100::1",
                             "2001::1",
                             "2001:db8::1",
                             "2002:7f00:1::1",
                             "fc00::1",
                             "fd12:3456::1",
                             "fe80::1",
                             "febf::1",
                             "fec0::1",
                             "ff02::1",
                             "4000::1"})
        EXPECT_FALSE(guard.allows(address_from(text).value())) << text;
}

TEST(AddressGuard, WhatTheConfigurationAllowsIsAllowed) {
    const AddressGuard guard({Network::parse("10.1.0.0/16").value(), Network::parse("::1").value(),
                              Network::parse("fd00::/9").value()});
    for (const char* text : {"10.1.0.1", "10.1.255.255", "::ffff:10.1.2.3", "::1", "fd7f::1"})
        EXPECT_TRUE(guard.allows(address_from(text).value())) << text;
    for (const char* text : {"10.2.0.1", "127.0.0.1", "fd80::1"})
        EXPECT_FALSE(guard.allows(address_from(text).value())) << text;
}

TEST(Network, OnlyTheUsualSpellingsAreRead) {
    for (const char* text : {"", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0",
                             "0x7f.0.0.1", "[::1]", "::1/129", "localhost", "10.0.0.0 /8"})
        EXPECT_FALSE(Network::parse(text)) << text;
    EXPECT_TRUE(Network::parse("0.0.0.0/0").value().contains(address_from("9.9.9.9").value()));
    EXPECT_FALSE(Network::parse("0.0.0.0/0").value().contains(address_from("2a00::1").value()));
}

TEST(Address, IsPrintedAsUsual) {
    EXPECT_EQ(to_string(address_from("::ffff:10.0.0.1").value()), "10.0.0.1");
    EXPECT_EQ(to_string(address_from("FE80::0:1").value()), "fe80::1");
}

}  // namespace
}  // namespace postroom::sink_http
