// Parameters in PostgreSQL's binary form.
#include "backends/postgres/encoding.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "backends/postgres/errors.hpp"

namespace postroom::postgres::encoding_test {
namespace {

using namespace std::string_literals;

Instant at(std::int64_t microseconds) { return Instant{Duration{microseconds}}; }

TEST(PostgresEncoding, IntegersAreEightBytesHighestFirst) {
    EXPECT_EQ(encode(std::int64_t{258}), "\0\0\0\0\0\0\1\2"s);
    EXPECT_EQ(encode(std::int64_t{-2}), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE"s);
    EXPECT_EQ(encode(std::numeric_limits<std::int64_t>::min()), "\x80\0\0\0\0\0\0\0"s);
}

TEST(PostgresEncoding, TimesCountFromTheYear2000) {
    EXPECT_EQ(encode(at(epoch_offset_us)), "\0\0\0\0\0\0\0\0"s);
    EXPECT_EQ(encode(at(epoch_offset_us + 1)), "\0\0\0\0\0\0\0\1"s);
    EXPECT_EQ(encode(at(epoch_offset_us - 1)), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s);
}

TEST(PostgresEncoding, TextBytesAndUuidsAreThemselves) {
    EXPECT_EQ(encode(std::string_view("gr\xC3\xBC\xC3\x9F")), "gr\xC3\xBC\xC3\x9F"s);
    EXPECT_EQ(encode(sql::BlobView{std::string_view("\0x\xFF", 3)}), "\0x\xFF"s);
    const Uuid uuid = Uuid::parse("00112233-4455-6677-8899-aabbccddeeff").value();
    EXPECT_EQ(encode(uuid), "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xAA\xBB\xCC\xDD\xEE\xFF"s);
}

TEST(PostgresEncoding, ArraysCarryTheirTypeAndTheirNulls) {
    const std::vector<std::int64_t> numbers{1};
    EXPECT_EQ(encode(sql::IntArray(numbers)),
              "\0\0\0\1\0\0\0\0\0\0\0\x14\0\0\0\1\0\0\0\1\0\0\0\x08\0\0\0\0\0\0\0\1"s);
    const std::vector<std::optional<std::string_view>> texts{"a", std::nullopt, ""};
    EXPECT_EQ(encode(sql::TextArray(texts)),
              "\0\0\0\1\0\0\0\1\0\0\0\x19\0\0\0\3\0\0\0\1\0\0\0\1a\xFF\xFF\xFF\xFF\0\0\0\0"s);
    EXPECT_EQ(encode(sql::IntArray{}), "\0\0\0\0\0\0\0\0\0\0\0\x14"s);
}

TEST(PostgresEncoding, AnEmptyTextIsNotNull) {
    sql::Params params;
    params.set("a", std::string_view{}).set("b", {});
    const sql::Statement statement{.sql = "", .names = {"a", "b"}};
    const ParamList list({.statement = &statement, .params = &params});
    EXPECT_NE(list.values()[0], nullptr);
    EXPECT_EQ(list.lengths()[0], 0);
    EXPECT_EQ(list.values()[1], nullptr);
}

TEST(PostgresEncoding, RenderedValuesAreLiteralsOfTheServer) {
    EXPECT_EQ(render(at(951'782'400'000'001)), SqlValue("2000-02-29 00:00:00.000001+00"s));
    EXPECT_EQ(render(at(-1)), SqlValue("1969-12-31 23:59:59.999999+00"s));
    const std::vector<std::optional<std::string_view>> texts{"a\"b\\", std::nullopt, ""};
    EXPECT_EQ(render(sql::TextArray(texts)), SqlValue(R"({"a\"b\\",NULL,""})"s));
    const std::vector<sql::BlobView> blobs{{std::string_view("\0\xFF", 2)}};
    EXPECT_EQ(render(sql::BlobArray(blobs)), SqlValue(R"({"\\x00ff"})"s));
}

TEST(PostgresErrors, EachSqlstateTellsWhatToDoNext) {
    for (const char* state : {"40001", "40P01", "55P03"})
        EXPECT_EQ(kind_of(state), ErrorKind::conflict) << state;
    for (const char* state : {"08006", "57P01", "57P03", "57014", "53300", "53100", "25006", ""}) {
        EXPECT_EQ(kind_of(state), ErrorKind::unavailable) << state;
    }
    for (const char* state : {"23505", "42P01", "42501", "22023"})
        EXPECT_EQ(kind_of(state), ErrorKind::rejected) << state;
    EXPECT_EQ(kind_of("25P02"), ErrorKind::misuse);
    EXPECT_EQ(kind_of("40003"), ErrorKind::outcome_unknown);
}

}  // namespace
}  // namespace postroom::postgres::encoding_test
