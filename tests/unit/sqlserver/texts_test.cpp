// Texts on their way to SQL Server: scripts, NULLs, UTF-16, times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/sqlserver/parameters.hpp"
#include "backends/sqlserver/script.hpp"
#include "base/utf16.hpp"
#include "sql/utc_text.hpp"

namespace postroom::sqlserver::texts_test {
namespace {

using testing::ElementsAre;

TEST(SqlServerTexts, AScriptIsCutAtItsGoLines) {
    EXPECT_THAT(split_script("GO\nSELECT 1\nGO\n\nGO\nSELECT 'GO' AS a\n, 2\n"),
                ElementsAre("SELECT 1\n", "SELECT 'GO' AS a\n, 2\n"));
}

TEST(SqlServerTexts, ANullStandsInTheTextAndNothingElseChanges) {
    Parameters parameters;
    parameters.add(sql::Value{});
    parameters.add(sql::Value{std::int64_t{7}});
    parameters.add(SqlValue{});
    EXPECT_EQ(parameters.text_for("SELECT ?, '?', [?], \"?\", ? -- ?\n, /* ? */ ?"),
              "SELECT NULL, '?', [?], \"?\", ? -- ?\n, /* ? */ NULL");
}

TEST(SqlServerTexts, Utf16ComesBackAsItWas) {
    for (const std::string text :
         {"", "a ", "caf\xC3\xA9", "\xF0\x9F\x93\xAE post", "\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF"})
        EXPECT_EQ(base::to_utf8(base::to_utf16(text)), text);
    EXPECT_EQ(base::to_utf16("\xF0\x9F\x93\xAE").size(), 2U);
    EXPECT_EQ(base::to_utf8(std::u16string{char16_t{0xD83D}}), "\xEF\xBF\xBD");
    EXPECT_EQ(base::to_utf16("\xFF"), u"\uFFFD");
}

TEST(SqlServerTexts, TimesAreTextsInUtcWithMicroseconds) {
    EXPECT_EQ(sql::utc_text(Instant{std::chrono::microseconds{1}}), "1970-01-01T00:00:00.000001");
    EXPECT_EQ(sql::utc_text(Instant::max()), "9999-12-31T23:59:59.999999");
    EXPECT_EQ(sql::utc_text(Instant::min()), "0001-01-01T00:00:00.000000");
}

}  // namespace
}  // namespace postroom::sqlserver::texts_test
