// Routines on MariaDB and MySQL are replaced while others call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "conformance/mysql/session.hpp"
#include "postroom/backend/mysql.hpp"
#include "postroom/outbox.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::mysql_upgrade_test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

// By the name of the server.
class ProceduresUpgrade : public testing::TestWithParam<std::string> {
protected:
    ProceduresUpgrade() { mysql::open_schema(database.url())->deploy(); }

    bool replaces_at_once() const { return GetParam() == "Mariadb"; }
    void create(const std::string& name, const std::string& rest) {
        if (!replaces_at_once()) database.sql("DROP PROCEDURE IF EXISTS " + name);
        database.sql((replaces_at_once() ? "CREATE OR REPLACE PROCEDURE " : "CREATE PROCEDURE ") +
                     name + rest);
    }
    // As a library of other routines would have left it: a step under a name that is no more, a
    // text that differs, and a procedure for writers that calls one with other parameters.
    void make_old() {
        create("outbox_store",
               "(IN p LONGBLOB, IN t LONGBLOB) INSERT INTO outbox_live (topic, payload) "
               "VALUES (t, p)");
        create("outbox_enqueue_with",
               "(IN t LONGBLOB, IN p LONGBLOB, IN o LONGTEXT) "
               "BEGIN CALL outbox_store(p, t); SELECT 'old' AS id, 0; END");
        database.sql("UPDATE postroom_migration SET checksum = 'old' WHERE name LIKE 'routines%'");
        database.sql(
            "INSERT IGNORE INTO postroom_migration (number, name, checksum) "
            "VALUES (7, '0007_outbox_procedures (outbox)', 'old')");
    }
    std::string value(const std::string& sql) { return database.sql(sql).at(0).at(0).value(); }

    MariadbDatabase database{GetParam() == "Mariadb" ? MariadbServer()
                                                     : MariadbServer(servers_directory(), "mysql")};
};

// Goal: a deployment of new routines fails no writer and loses no message.
// Method: one writer of another language, one of ours, while old routines are replaced many times.
TEST_P(ProceduresUpgrade, ReplacesRoutinesWhileWritersGoOn) {
    const auto store = mysql::open_store(database.url());
    const Outbox outbox(*store);
    std::atomic<int> written = 0;
    {
        std::jthread by_procedure([&](const std::stop_token& stop) {
            NativeSession session(database.url());
            while (!stop.stop_requested()) {
                // On MySQL a procedure is missing for a moment, and another language says so.
                try {
                    session.run("CALL outbox_enqueue('t', 'p', 'c', NULL, NULL, NULL, NULL, NULL)");
                    ++written;
                } catch (const std::runtime_error& error) {
                    ASSERT_FALSE(replaces_at_once()) << error.what();
                    ASSERT_THAT(error.what(), testing::HasSubstr("does not exist"));
                }
            }
        });
        std::jthread by_library([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                ASSERT_NO_THROW(
                    outbox.enqueue({.topic = "t", .payload = "p", .ordering_key = "k"}));
                ++written;
            }
        });
        for (int round = 0; round < 5; ++round) {
            make_old();
            const int before = written;
            ASSERT_TRUE(wait_until([&] { return written > before + 20; }, 90s));
            mysql::open_schema(database.url())->deploy();
        }
    }
    EXPECT_EQ(value("SELECT COUNT(*) FROM outbox"), std::to_string(written));
    EXPECT_EQ(value("SELECT COUNT(*) FROM outbox WHERE topic <> 't' OR payload <> 'p'"), "0");
}

TEST_P(ProceduresUpgrade, RemovesRoutinesThatAreNoMoreAndKeepsTheHistory) {
    make_old();
    const auto schema = mysql::open_schema(database.url());
    EXPECT_THAT(schema->report().outdated,
                testing::ElementsAre("routines (outbox)", "routines (inbox)"));
    schema->deploy();
    EXPECT_TRUE(schema->report().up_to_date());
    EXPECT_THAT(schema->report().drift, IsEmpty());
    EXPECT_EQ(value("SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = "
                    "DATABASE() AND ROUTINE_NAME = 'outbox_store'"),
              "0");
    EXPECT_EQ(value("SELECT COUNT(*) FROM postroom_migration WHERE number = 7"), "1");
}

INSTANTIATE_TEST_SUITE_P(Servers, ProceduresUpgrade, testing::Values("Mariadb", "Mysql"),
                         [](const auto& server) { return server.param; });

}  // namespace
}  // namespace postroom::test::mysql_upgrade_test
