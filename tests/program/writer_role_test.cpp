// postroom enqueue as the writer of docs/guides/roles-and-grants.md, with that guide's grants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <regex>

#include "program/program.hpp"
#include "support/guide.hpp"
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test::writer_role_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

constexpr const char* guide = "guides/roles-and-grants.md";
constexpr const char* id_pattern = "[0-9a-f-]+";
constexpr const char* ulid_pattern = "[0-9A-Z]+";

std::string as_user(const std::string& url, const std::string& user) {
    return url.substr(0, url.find("//") + 2) + user + url.substr(url.rfind('@'));
}

// All that a message can be given on the command line, twice with the same key.
void enqueue_in_every_way(const ProgramFolder& folder) {
    EXPECT_THAT(folder.good({"enqueue", "plain", "--payload", "1"}),
                MatchesRegex(fmt::format("{} {}\n", id_pattern, ulid_pattern)));
    EXPECT_THAT(folder.good({"enqueue", "plain", "--payload", "2", "--json"}),
                MatchesRegex(R"(\{"id":"[0-9a-f-]+","message_id":"[0-9A-Z]+",)"
                             R"("already_existed":false\}.)"));
    folder.good({"enqueue",          "rich",
                 "--payload",        "ä",
                 "--content-type",   "text/plain",
                 "--header",         "x-a=\"ö\"",
                 "--message-id",     "mine",
                 "--correlation-id", "c",
                 "--tenant-id",      "t",
                 "--ordering-key",   "o",
                 "--due-time",       "2020-01-01T00:00:00.5Z",
                 "--expires-at",     "2099-01-01T00:00:00Z",
                 "--priority",       "5"});
    const auto once = [&] {
        return folder.good({"enqueue", "keyed", "--payload", "3", "--idempotency-key", "k"});
    };
    EXPECT_EQ(once().substr(0, 36), once().substr(0, 36)) << "the message that has the key";
    folder.good({"enqueue", "--jsonl", "--batch", "2"},
                "{\"topic\":\"line\",\"payload\":1}\n{\"topic\":\"line\",\"payload\":2}\n"
                "{\"topic\":\"line\",\"payload\":3,\"message_id\":\"third\"}\n");
}

// As the owner of the schema.
void expect_all_of_it(const ProgramFolder& folder) {
    const std::string rich = folder.good({"list", "--topic", "rich", "--json"});
    for (const char* const part :
         {R"("message_id":"mine")", R"("correlation_id":"c")", R"("tenant_id":"t")",
          R"("ordering_key":"o")", R"("due_time":"2020-01-01T00:00:00.5)",
          R"("expires_at":"2099-01-01T00:00:00)", R"("priority":5)",
          R"("content_type":"text/plain")"})
        EXPECT_THAT(rich, HasSubstr(part));
    const std::string id = rich.substr(rich.find("\"id\":\"") + 6, 36);
    EXPECT_THAT(folder.good({"show", id, "--payload", "--json"}),
                AllOf(HasSubstr(R"("ä")"), HasSubstr(R"("x-a":"\"ö\"")")));
    EXPECT_THAT(folder.good({"status", "--json"}), HasSubstr("\"ready\":7"));
}

class PostgresWriter : public testing::Test {
protected:
    PostgresWriter() {
        folder.set("POSTROOM_URL", database.url());
        folder.good({"migrate", "up"});
        blocks = sql_blocks(guide, "PostgreSQL");
        for (std::string& block : blocks)
            block = std::regex_replace(block, std::regex("postroom_([a-z]+)"), role("$1"));
        database.psql(blocks.at(0));
    }
    ~PostgresWriter() override {
        for (const std::string name : {"migrator", "writer", "worker", "viewer"})
            database.psql(fmt::format("DROP OWNED BY {0}; DROP ROLE {0}", role(name)));
    }

    // Roles belong to the server.
    std::string role(const std::string& name) const { return name + "_" + database.name(); }
    void become_writer() { folder.set("POSTROOM_URL", as_user(database.url(), role("writer"))); }

    const PostgresDatabase database;
    ProgramFolder folder;
    std::vector<std::string> blocks;
};

TEST_F(PostgresWriter, EnqueuesWithTheGrantsOfTheGuide) {
    database.psql(blocks.at(2));
    become_writer();
    enqueue_in_every_way(folder);
    EXPECT_NE(folder.run({"list"}).code, 0) << "and may do nothing else";
    folder.set("POSTROOM_URL", database.url());
    expect_all_of_it(folder);
}

TEST_F(PostgresWriter, WithoutAnyRightIsToldWhatItNeeds) {
    become_writer();
    const Ran refused = folder.run({"enqueue", "t", "--payload", "1"});
    EXPECT_EQ(refused.code, 6);
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr("permission denied"), HasSubstr("roles-and-grants.md")));
}

TEST_F(PostgresWriter, IsToldWhatIsWrongWithAMessageAndNotOfItsRights) {
    database.psql(blocks.at(2));
    become_writer();
    const Ran refused =
        folder.run({"enqueue", "t", "--payload", "1", "--due-time", "2030-01-01T00:00:00Z",
                    "--expires-at", "2029-01-01T00:00:00Z"});
    EXPECT_NE(refused.code, 0);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("expires_at"), Not(HasSubstr("permission"))));
}

#ifdef POSTROOM_TEST_MYSQL

TEST(MariadbWriter, EnqueuesWithTheGrantsOfTheGuide) {
    const MariadbDatabase database;
    const std::string root = database.server().root_url();
    ProgramFolder folder;
    folder.set("POSTROOM_URL", database.url());
    folder.good({"migrate", "up"});
    std::string grants = sql_blocks(guide, "MariaDB and MySQL").at(0);
    grants = std::regex_replace(grants, std::regex("shop\\."), database.name() + ".");
    const std::array<std::string, 3> roles{"writer", "worker", "viewer"};
    const auto user = [&](const std::string& role) {
        return fmt::format("'{}_{}'@'%'", role, database.name());
    };
    for (const std::string& role : roles) {
        mariadb_sql(root, fmt::format("CREATE USER {} IDENTIFIED BY 'secret'", user(role)));
        grants = std::regex_replace(grants, std::regex("postroom_" + role), user(role));
    }
    mariadb_sql(root, grants);
    folder.set("POSTROOM_URL",
               as_user(database.url(), fmt::format("writer_{}:secret", database.name())));
    enqueue_in_every_way(folder);
    EXPECT_THAT(folder.good({"enqueue", "keyed", "--payload", "3", "--idempotency-key", "k"}),
                HasSubstr("(was there already)"));
    EXPECT_NE(folder.run({"list"}).code, 0) << "and may do nothing else";
    folder.set("POSTROOM_URL", database.url());
    expect_all_of_it(folder);
    for (const std::string& role : roles) mariadb_sql(root, "DROP USER " + user(role));
}

#endif

}  // namespace
}  // namespace postroom::test::writer_role_test
