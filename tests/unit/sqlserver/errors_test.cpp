// What the numbers of SQL Server and the states of its drivers mean.
#include "backends/sqlserver/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace postroom::sqlserver::errors_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(SqlServerErrors, TellWhatTheCallerMayDo) {
    for (const int number : {1205, 1222, 3960, 41302, 51222})
        EXPECT_EQ(kind_of("42000", number), ErrorKind::conflict) << number;
    for (const int number :
         {233, 596, 701, 4060, 6005, 9002, 10054, 40197, 40501, 40613, 49918, 20006})
        EXPECT_EQ(kind_of("42000", number), ErrorKind::unavailable) << number;
    for (const int number : {208, 515, 547, 2601, 2627, 2812, 8152, 51022})
        EXPECT_EQ(kind_of("42000", number), ErrorKind::rejected) << number;
    EXPECT_EQ(kind_of("42000", 51000), ErrorKind::misuse);
    for (const char* const state : {"08S01", "08001", "HYT00", "HYT01"})
        EXPECT_EQ(kind_of(state, 0), ErrorKind::unavailable) << state;
    EXPECT_EQ(kind_of("40001", 0), ErrorKind::conflict);
}

TEST(SqlServerErrors, ALostConnectionIsToldFromOneThatHolds) {
    EXPECT_TRUE(is_loss("08S01", 0));
    EXPECT_TRUE(is_loss("HYT00", 0));
    EXPECT_TRUE(is_loss("42000", 596));
    EXPECT_FALSE(is_loss("42000", 1205));
    EXPECT_FALSE(is_loss("42000", 9002));
}

TEST(SqlServerErrors, ValuesAreNotRepeated) {
    const Error duplicate = make_error(
        {.state = "23000", .number = 2627, .words = "The duplicate key value is (geheim)."});
    EXPECT_THAT(duplicate.what(), Not(HasSubstr("geheim")));
    EXPECT_THAT(duplicate.what(), HasSubstr("duplicate entry"));
    const Error cut =
        make_error({.state = "22001", .number = 2628, .words = "Truncated value: 'geheim'."});
    EXPECT_THAT(cut.what(), Not(HasSubstr("geheim")));
    EXPECT_THAT(
        make_error({.state = "42S02", .number = 208, .words = "Invalid object name 'x'."}).what(),
        HasSubstr("deploy_schema"));
}

}  // namespace
}  // namespace postroom::sqlserver::errors_test
