// Which statements are known to the server by name.
#include "backends/postgres/prepared.hpp"

#include <gtest/gtest.h>

namespace postroom::postgres::prepared_test {
namespace {

TEST(PostgresPrepared, NamesAreNeverUsedTwice) {
    PreparedStatements prepared;
    const std::string first = *prepared.add("a");
    EXPECT_EQ(*prepared.find("a"), first);
    prepared.forget("a");
    EXPECT_EQ(prepared.find("a"), nullptr);
    EXPECT_NE(*prepared.add("a"), first);
}

TEST(PostgresPrepared, AreNotMoreThanTheServerShouldKeep) {
    PreparedStatements prepared;
    for (int i = 0; i < 200; ++i) EXPECT_NE(prepared.add(std::to_string(i)), nullptr);
    EXPECT_EQ(prepared.add("one more"), nullptr);
}

TEST(PostgresPrepared, AUsersStatementIsRepeatedFromTheSecondRunOn) {
    PreparedStatements prepared;
    EXPECT_FALSE(prepared.repeated("a"));
    prepared.ran("a");
    EXPECT_FALSE(prepared.repeated("a"));
    prepared.ran("a");
    EXPECT_TRUE(prepared.repeated("a"));
}

TEST(PostgresPrepared, AUsersStatementThatFailedByItsNameIsNeverPreparedAgain) {
    PreparedStatements prepared;
    prepared.ran("a");
    prepared.failed("a");
    prepared.ran("a");
    EXPECT_TRUE(prepared.repeated("a")) << "it has failed without a name";
    prepared.add("a");
    prepared.failed("a");
    EXPECT_EQ(prepared.find("a"), nullptr);
    for (int i = 0; i < 1000; ++i) prepared.ran(std::to_string(i));
    for (int i = 0; i < 3; ++i) prepared.ran("a");
    EXPECT_FALSE(prepared.repeated("a"));
}

TEST(PostgresPrepared, AStatementOfOursMayBePreparedAgainAfterAFailure) {
    PreparedStatements prepared;
    prepared.add("ours");
    prepared.failed("ours");
    EXPECT_EQ(prepared.find("ours"), nullptr);
    EXPECT_NE(prepared.add("ours"), nullptr);
}

TEST(PostgresPrepared, TextsThatCameOnceMakeRoomForOthers) {
    PreparedStatements prepared;
    prepared.ran("kept");
    prepared.ran("kept");
    for (int i = 0; i < 1000; ++i) prepared.ran(std::to_string(i));
    EXPECT_TRUE(prepared.repeated("kept"));
    prepared.ran("new");
    prepared.ran("new");
    EXPECT_TRUE(prepared.repeated("new"));
}

TEST(PostgresPrepared, HugeTextsAreNotRemembered) {
    PreparedStatements prepared;
    const std::string huge(100'000, 'x');
    for (int i = 0; i < 3; ++i) prepared.ran(huge);
    EXPECT_FALSE(prepared.repeated(huge));
}

}  // namespace
}  // namespace postroom::postgres::prepared_test
