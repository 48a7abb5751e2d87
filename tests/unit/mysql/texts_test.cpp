// Pieces of the MariaDB driver that need no server: errors, times, scripts, rows of values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mysql/errors.hpp"
#include "backends/mysql/render.hpp"
#include "backends/mysql/row_values.hpp"
#include "backends/mysql/script.hpp"
#include "backends/mysql/times.hpp"

namespace postroom::mysql::texts_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(MysqlErrors, TellWhatMayBeDone) {
    for (const unsigned code : {1213U, 1205U, 1206U, 1020U, 3101U, 3572U})
        EXPECT_EQ(kind_of(code), ErrorKind::conflict) << code;
    for (const unsigned code :
         {2002U, 2003U, 2006U, 2013U, 1040U, 1047U, 1053U, 1290U, 1927U, 1969U})
        EXPECT_EQ(kind_of(code), ErrorKind::unavailable) << code;
    for (const unsigned code : {1568U, 1792U, 2014U})
        EXPECT_EQ(kind_of(code), ErrorKind::misuse) << code;
    for (const unsigned code : {1045U, 1064U, 1146U, 1406U, 4025U, 1644U})
        EXPECT_EQ(kind_of(code), ErrorKind::rejected) << code;
}

TEST(MysqlErrors, KnowALostConnection) {
    for (const unsigned code : {2006U, 2013U, 1927U, 1053U}) EXPECT_TRUE(is_loss(code)) << code;
    for (const unsigned code : {1213U, 1062U, 2014U}) EXPECT_FALSE(is_loss(code)) << code;
    for (const unsigned code : {1290U, 1836U, 1021U, 1114U, 1047U, 1226U})
        EXPECT_TRUE(is_refusal(code)) << code;
    for (const unsigned code : {2013U, 1927U, 1317U, 1969U}) EXPECT_FALSE(is_refusal(code)) << code;
}

TEST(MysqlErrors, GiveTheReasonOfAFailedConnectionInWords) {
    EXPECT_EQ(connect_reason("Can't connect to server on 'db' (110)"), "Connection timed out");
    EXPECT_EQ(connect_reason("Can't connect to local server through socket '/x' (2)"),
              "No such file or directory");
    EXPECT_EQ(connect_reason("Unknown server host 'db' (-2)"), "Name or service not known");
    EXPECT_EQ(connect_reason("Can't connect to server on 'db' (115)"), "")
        << "that a connection was begun is no reason";
    for (const char* const words : {"", "(", " (", "Can't connect (at all)"})
        EXPECT_EQ(connect_reason(words), "") << words;
}

TEST(MysqlErrors, NameTheFieldButNoValue) {
    EXPECT_THAT(make_error(1406, "Data too long for column 'topic' at row 1").what(),
                HasSubstr("'topic'"));
    for (const unsigned code : {1062U, 1292U, 1300U, 1366U, 1367U, 1411U, 1525U, 1586U, 1690U,
                                1916U, 1918U, 1977U, 3854U, 3988U})
        EXPECT_THAT(make_error(code, "for 'secret'").what(), Not(HasSubstr("secret"))) << code;
    EXPECT_THAT(make_error(1146, "Table 'shop.outbox_live' doesn't exist").what(),
                testing::AllOf(HasSubstr("outbox_live"), HasSubstr("deploy_schema")));
}

TEST(MysqlTimes, KeepMicroseconds) {
    const Instant time{std::chrono::microseconds{1'700'000'000'123'456}};
    EXPECT_EQ(to_datetime_text(time), "2023-11-14 22:13:20.123456");
    for (const Instant instant : {time, Instant{}, Instant{-1us}, Instant{-5h - 1us}})
        EXPECT_EQ(from_datetime(to_datetime(instant)), instant);
}

TEST(MysqlTimes, StayWithinTheRangeOfTheType) {
    EXPECT_EQ(to_datetime_text(Instant::max()), "9999-12-31 23:59:59.999999");
    EXPECT_EQ(to_datetime_text(Instant::min()), "0001-01-01 00:00:00.000000");
}

TEST(MysqlRender, GivesEveryDriverWhatItCanBind) {
    const std::vector<std::int64_t> numbers{1, -2};
    EXPECT_EQ(render_value(sql::IntArray(numbers)), SqlValue{"[1,-2]"});
    EXPECT_EQ(render_value(Instant{}), SqlValue{"1970-01-01 00:00:00.000000"});
    EXPECT_EQ(render_value(sql::BlobView{"x"}), SqlValue{Blob{"x"}});
    EXPECT_EQ(render_value({}), SqlValue{});
}

TEST(MysqlScript, IsSplitAsTheCommandLineClientDoes) {
    EXPECT_THAT(split_script("-- first\nSELECT 1;\n\nSELECT\n 2;\nDELIMITER //\n"
                             "CREATE PROCEDURE p()\nBEGIN\n    SELECT 3;\nEND//\nDELIMITER ;\n"
                             "SELECT 4"),
                ElementsAre("SELECT 1", "SELECT\n 2",
                            "CREATE PROCEDURE p()\nBEGIN\n    SELECT 3;\nEND", "SELECT 4"));
    EXPECT_THAT(split_script("-- nothing\n\n"), testing::IsEmpty());
}

// A call of an INSERT of many rows, with `count` of them.
class Rows {
public:
    explicit Rows(std::size_t count, std::size_t bytes = 1)
        : text_(bytes, 'p'), numbers_(count, 7), texts_(count, text_) {
        params_.set("n", sql::IntArray(numbers_)).set("t", sql::TextArray(texts_));
    }
    sql::Call call() const { return {&statement_, &params_}; }

private:
    const sql::Statement statement_ = sql::Statement::compile(
        "INSERT INTO a VALUES {rows} RETURNING n", sql::Placeholder::plain, "(:n, :t)");
    const std::string text_;
    const std::vector<std::int64_t> numbers_;
    const std::vector<std::optional<std::string_view>> texts_;
    sql::Params params_;
};

TEST(MysqlRowValues, RepeatTheRow) {
    EXPECT_EQ(
        with_rows(sql::Statement::compile("V {rows} R", sql::Placeholder::plain, "(:a, :b)"), 3),
        "V (?, ?), (?, ?), (?, ?) R");
    const Rows rows(5);
    EXPECT_EQ(row_count(rows.call()), 5U);
    EXPECT_EQ(bindings_of_rows(rows.call(), 1, 3).count(), 6U);
}

TEST(MysqlRowValues, GoInPartsOfFewSizes) {
    EXPECT_THAT(parts_of(Rows(100).call(), 1'000'000), ElementsAre(64, 32, 4));
    EXPECT_THAT(parts_of(Rows(513).call(), 1'000'000), ElementsAre(256, 256, 1));
    EXPECT_THAT(parts_of(Rows(31).call(), 1'000'000), ElementsAre(31));
    EXPECT_THAT(parts_of(Rows(63).call(), 1'000'000), ElementsAre(32, 31));
    EXPECT_THAT(parts_of(Rows(4, 1000).call(), 2500), ElementsAre(2, 2));
    EXPECT_THAT(parts_of(Rows(2, 1000).call(), 10), ElementsAre(1, 1));
}

TEST(MysqlRowValues, AreNotMeantBySetsOfNumbers) {
    const std::vector<std::int64_t> numbers{1, 2};
    sql::Params params;
    params.set("seqs", sql::IntArray(numbers));
    const sql::Statement statement =
        sql::Statement::compile("CALL p(:seqs)", sql::Placeholder::plain);
    EXPECT_EQ(row_count({&statement, &params}), 0U);
}

}  // namespace
}  // namespace postroom::mysql::texts_test
