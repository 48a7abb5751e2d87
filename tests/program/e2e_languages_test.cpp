// The code of docs/guides/from-any-language.md, as it stands there but for the address of the
// database: every block that sends or receives, in SQL, Python, Node and the shell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "program/e2e_peers.hpp"
#include "program/program.hpp"
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"
#include "support/source_file.hpp"

namespace postroom::test::e2e_languages_test {
namespace {

using testing::ElementsAre;

std::string guide() { return read_source_file("docs/guides/from-any-language.md"); }

// The first block of `language` that holds `part`, with `from` replaced by `to`.
std::string block(const std::string& language, const std::string& part, const std::string& from,
                  const std::string& to) {
    std::istringstream lines(guide());
    std::string code;
    std::string opened;  // the fence that is open
    for (std::string line; std::getline(lines, line);) {
        if (opened.empty()) {
            if (line.starts_with("```")) opened = line;
            code.clear();
        } else if (line != "```") {
            code += line + "\n";
        } else if (opened == "```" + language && code.find(part) != std::string::npos) {
            const std::size_t place = code.find(from);
            EXPECT_NE(place, std::string::npos) << from;
            if (place != std::string::npos) code.replace(place, from.size(), to);
            return code;
        } else {
            opened.clear();
        }
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

class E2eLanguagesNode : public E2eLanguages {};

// An ES module finds its packages in the folders above its own only.
TEST_F(E2eLanguagesNode, NodeSends) {
    std::filesystem::create_directory_symlink(POSTROOM_LANGUAGE_PACKAGES "/node_modules",
                                              folder / "node_modules");
    folder.write("shop.mjs", block("js", "infra.outbox_enqueue", "database: \"shop\"",
                                   "connectionString: \"" + database.url() + "\""));
    good_tool("/usr/bin/env", {"node", (folder / "shop.mjs").string()});
    EXPECT_THAT(sent(), ElementsAre(ElementsAre("order.placed", "{\"order\": 17}", testing::_)));
    EXPECT_THAT(database.psql("SELECT idempotency_key FROM infra.outbox"),
                ElementsAre(ElementsAre("order-17")));
}

// The lines of a block behind "$ ", typed one after the other in the folder.
std::string typed(const ProgramFolder& folder, const std::string& code) {
    std::string script =
        fmt::format("set -e; cd '{}'; export PATH='{}':$PATH\n", folder.folder().path().string(),
                    program_path("postroom").parent_path().string());
    std::istringstream lines(code);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_TRUE(line.starts_with("$ ")) << line;
        script += line.substr(2) + "\n";
    }
    return good_tool("/bin/bash", {"-c", script});
}

TEST_F(E2eLanguages, TheShellSends) {
    folder.write("orders.jsonl", "{\"topic\": \"order.placed\", \"payload\": {\"order\": 18}}\n");
    typed(folder, "$ export POSTROOM_URL='" + database.url() + "'\n" +
                      block("", "postroom enqueue", "", ""));
    EXPECT_EQ(sent().size(), 2U);
}

// The relay would run for ever; what it does is another test's.
TEST(E2eLanguagesOnce, TheShellMakesTheTables) {
    const PostgresDatabase database;
    const ProgramFolder folder;
    std::string code =
        block("", "postroom migrate up", "postgresql://app@db/shop", "'" + database.url() + "'");
    const std::string relay = "$ postroom relay";
    ASSERT_NE(code.find(relay), std::string::npos);
    typed(folder, code.replace(code.find(relay), relay.size(), "$ postroom status"));
    EXPECT_THAT(database.psql("SELECT count(*) FROM infra.outbox"), ElementsAre(ElementsAre("0")));
}

#ifdef POSTROOM_TEST_MYSQL

class E2eLanguagesMariadb : public testing::Test {
protected:
    E2eLanguagesMariadb() {
        folder.set("POSTROOM_URL", database.url());
        folder.good({"migrate", "up"});
        database.sql("CREATE TABLE orders (id int PRIMARY KEY)");
    }
    SqlRows sent() const {
        return database.sql(
            "SELECT CONVERT(topic USING utf8mb4), CONVERT(payload USING utf8mb4), "
            "CONVERT(ordering_key USING utf8mb4) FROM outbox");
    }

    const MariadbDatabase database;
    ProgramFolder folder;
};

TEST_F(E2eLanguagesMariadb, SqlSends) {
    database.sql(block("sql", "CALL outbox_enqueue", "", ""));
    EXPECT_THAT(sent(), ElementsAre(ElementsAre("order.placed", "{\"order\": 17}", testing::_)));
    EXPECT_THAT(database.sql("SELECT id FROM orders"), ElementsAre(ElementsAre("17")));
}

// The password of the tests has a letter that PyMySQL would send in another encoding.
TEST_F(E2eLanguagesMariadb, PythonSends) {
    const std::map<std::string, std::string> server = server_values(servers_directory(), "mariadb");
    folder.write(
        "script",
        block("python", "pymysql.connect", R"(host="db", user="app", database="shop")",
              fmt::format(R"(host="{}", port={}, user="{}", password="{}".encode(), database="{}")",
                          server.at("host"), server.at("port"), server.at("user"),
                          server.at("password"), database.name())));
    good_tool("/usr/bin/python3", {(folder / "script").string()});
    EXPECT_THAT(sent(), ElementsAre(ElementsAre("order.placed", "{\"order\": 17}", "customer-5")));
    EXPECT_THAT(database.sql("SELECT id FROM orders"), ElementsAre(ElementsAre("17")));
}

#endif

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
