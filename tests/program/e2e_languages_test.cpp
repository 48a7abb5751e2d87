// Code of docs/guides/from-any-language.md, as it stands there but for the name of the database:
// the blocks of SQL for PostgreSQL, of Python with psycopg2 (sending, and receiving behind a few
// lines that stand for a web framework) and of Python with sqlite3. Those for Node, for MariaDB and
// for the shell are not run here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "program/e2e_peers.hpp"
#include "program/program.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test::e2e_languages_test {
namespace {

using testing::ElementsAre;

std::string guide() {
    std::ostringstream text;
    text << std::ifstream(std::string(POSTROOM_SOURCE_DIR) + "/docs/guides/from-any-language.md")
                .rdbuf();
    return text.str();
}

// The first block of `language` that holds `part`, with `from` replaced by `to`.
std::string block(const std::string& language, const std::string& part, const std::string& from,
                  const std::string& to) {
    const std::string text = guide();
    const std::string fence = "```" + language + "\n";
    for (std::size_t at = text.find(fence); at != std::string::npos;
         at = text.find(fence, at + 1)) {
        const std::size_t begin = at + fence.size();
        std::string code = text.substr(begin, text.find("```\n", begin) - begin);
        if (code.find(part) == std::string::npos) continue;
        const std::size_t place = code.find(from);
        if (place != std::string::npos) code.replace(place, from.size(), to);
        return code;
    }
    ADD_FAILURE() << "no block of " << language << " with " << part;
    return {};
}

// A database with the tables of the guide's application.
class E2eLanguages : public testing::Test {
protected:
    E2eLanguages() {
        folder.set("POSTROOM_URL", database.url());
        folder.good({"migrate", "up"});
        database.psql("CREATE TABLE orders (id int PRIMARY KEY)");
        database.psql("CREATE TABLE shipments (order_id int)");
    }

    std::string run_script(const std::string& program, const std::string& code) const {
        folder.write("script", code);
        return good_tool(program, {(folder / "script").string()});
    }
    // Topic, payload and ordering key of all that was written.
    SqlRows sent() const {
        return database.psql(
            "SELECT topic, convert_from(payload, 'UTF8'), ordering_key "
            "FROM infra.outbox");
    }

    const PostgresDatabase database;
    ProgramFolder folder;
};

TEST_F(E2eLanguages, SqlSends) {
    database.psql(block("sql", "infra.outbox_enqueue", "", ""));
    EXPECT_THAT(sent(), ElementsAre(ElementsAre("order.placed", "{\"order\": 17}", testing::_)));
}

TEST_F(E2eLanguages, PythonSends) {
    run_script("/usr/bin/python3",
               block("python", "psycopg2.connect", "dbname=shop", database.url()));
    EXPECT_THAT(sent(), ElementsAre(ElementsAre("order.placed", "{\"order\": 17}", "customer-5")));
}

TEST(E2eLanguagesSqlite, PythonSends) {
    ProgramFolder folder;
    const std::string path = (folder / "shop.db").string();
    folder.set("POSTROOM_URL", "sqlite:" + path);
    folder.good({"migrate", "up"});
    good_tool("/usr/bin/python3",
              {"-c", "import sqlite3; sqlite3.connect('" + path +
                         "').execute('CREATE TABLE orders (id INTEGER PRIMARY KEY)')"});
    folder.write("script", block("python", "sqlite3.connect", "shop.db", path));
    good_tool("/usr/bin/python3", {(folder / "script").string()});
    EXPECT_THAT(folder.good({"list"}), testing::HasSubstr("order.placed"));
    const std::unique_ptr<Store> store = open_store("sqlite:" + path);
    const Outbox outbox(*store);
    const std::vector<Message> claimed = outbox.claim_due(10);
    ASSERT_EQ(claimed.size(), 1u);
    EXPECT_EQ(claimed.front().payload, "{\"order\": 17}");
}

TEST_F(E2eLanguages, PythonReceivesOnce) {
    const std::string code = fmt::format(
        R"(import psycopg2
class request:
    headers = {{"webhook-id": "m1"}}
order = {{"order": 17}}
db = psycopg2.connect("{}")
)",
        database.url());
    const std::string receive = block("python", "inbox_already_processed", "", "");
    run_script("/usr/bin/python3", code + receive + receive);
    EXPECT_THAT(database.psql("SELECT order_id FROM shipments"), ElementsAre(ElementsAre("17")));
}

}  // namespace
}  // namespace postroom::test::e2e_languages_test
