// What the program shows of messages that somebody else wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/json_text.hpp"
#include "base/utf8.hpp"
#include "program/program.hpp"

namespace postroom::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// A terminal may take U+009B for the beginning of an escape sequence; U+202E turns the text around.
constexpr const char* deceptive =
    "\xC2\x9B"
    "31m\xE2\x80\xAEtxt";

// One message by plain INSERT, with such characters wherever a text can be, and half of a surrogate
// pair in a header.
void insert_deceptive_message(const std::filesystem::path& file) {
    sqlite3* opened = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &opened), SQLITE_OK);
    const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> closed(opened, &sqlite3_close);
    const std::string insert = fmt::format(
        "INSERT INTO outbox_live (message_id, topic, correlation_id, tenant_id, aggregate_id, "
        "headers, payload, created_at) VALUES ('m{0}', 't{0}', 'c{0}', 'e{0}', 'a{0}', "
        R"('{{"h{0}":"\udc00 {0}"}}', CAST('{{"p":"{0}"}}' AS BLOB), 1700000000000000))",
        deceptive);
    char* why = nullptr;
    EXPECT_EQ(sqlite3_exec(opened, insert.c_str(), nullptr, nullptr, &why), SQLITE_OK) << why;
}

void expect_harmless(const Ran& ran, const std::string& command) {
    for (const std::string& text : {ran.out, ran.err}) {
        EXPECT_TRUE(base::is_valid_utf8(text)) << command;
        EXPECT_THAT(text, Not(HasSubstr("\xC2\x9B"))) << command;
        EXPECT_THAT(text, Not(HasSubstr("\xE2\x80\xAE"))) << command;
    }
}

TEST(ProgramOutput, NothingThatCouldDeceiveAReaderLeavesUs) {
    ProgramFolder folder;
    folder.set("POSTROOM_URL", "sqlite:shop.db");
    folder.good({"migrate", "up"});
    insert_deceptive_message(folder / "shop.db");
    const std::string id = text_member(folder.good({"list", "--json"}), "id");
    const std::vector<std::vector<std::string>> commands{
        {"list"},        {"list", "--json"},          {"show", id, "--payload"},
        {"explain", id}, {"explain", id, "--json"},   {"show", id, "--json", "--payload"},
        {"status"},      {"discard", id, "--dry-run"}};
    for (const std::vector<std::string>& command : commands) {
        const Ran ran = folder.run(command);
        EXPECT_EQ(ran.code, 0) << command[0] << ran.err;
        expect_harmless(ran, command[0]);
    }
    // The values are there all the same: escaped, they mean what they were.
    const std::string shown = folder.good({"show", id, "--json", "--payload"});
    EXPECT_THAT(shown, HasSubstr(R"("topic":"t\u009b31m\u202etxt")"));
    EXPECT_THAT(shown, HasSubstr(R"("payload":{"p":"\u009b31m\u202etxt"})"));
    EXPECT_TRUE(base::compact_json(shown));
}

}  // namespace
}  // namespace postroom::test
