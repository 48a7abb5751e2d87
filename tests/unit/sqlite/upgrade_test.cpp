// A file that an earlier version deployed, and what this version makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "backends/sqlite/driver.hpp"
#include "backends/sqlite/vocabulary.hpp"
#include "postroom/backend/sqlite.hpp"
#include "postroom/outbox.hpp"
#include "sql/migration.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlite {

std::span<const sql::EmbeddedMigration> schema_files();

namespace upgrade_test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::Each;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

// What the earlier version noted of each file, for the names that a store has by default. Two files
// are no more: they made views, which are routines now.
constexpr const char* noted_before = R"(
    DELETE FROM postroom_migration;
    INSERT INTO postroom_migration (number, name, checksum) VALUES
        (1, '0001_queue_tables (outbox)',
         'c781195b5396f16de959c26e2a8b4ff5556e7cd5fc85b6aa57ee0231567c04af'),
        (1, '0001_queue_tables (inbox)',
         '6917c4dfb3636ac1314c6ec0331255a7eb61491398feffe045bb2bbed3999d85'),
        (2, '0002_outbox_tables (outbox)',
         '6c3e2f075eb35af436c80b36188fb4af6f892cd972dbdb3d420d5848956e916a'),
        (3, '0003_inbox_tables (inbox)',
         '4bf44002565c32c929aebe7dccb91664244c55fbee2747d38b64927473d7619d'),
        (4, '0004_outbox_views (outbox)',
         '20eed8f7a7483a0c5825fb7878ece1931c2619a0bbf9648c0a5e2db29519f8f2'),
        (5, '0005_inbox_views (inbox)',
         '53a434687fabab5f87f643878428bb34924d9522dc2b0ec3d18f2f3922d1516c'),
        (6, '0006_outbox_paused (outbox)',
         '905dec73a8064454055a49a09df983ed0204daec5bc00d199d2e70e9871b5b9e');
    CREATE VIEW outbox AS SELECT seq FROM outbox_live;
    CREATE VIEW outbox_status AS SELECT seq FROM outbox_live;
    CREATE VIEW inbox AS SELECT seq FROM inbox_live;
    CREATE VIEW inbox_status AS SELECT seq FROM inbox_live;)";

class SqliteUpgrade : public testing::Test {
protected:
    // Tables as they are, views of the earlier version, and its notes.
    void deploy_before() {
        const std::string script = schema()->script();
        Driver driver(path_, 5s);
        driver.begin();
        const std::size_t last = script.find("-- 0006_outbox_paused");
        driver.execute_script(script.substr(0, script.find("-- 0008_outbox_records", last)));
        driver.execute_script(noted_before);
        driver.commit();
    }

    std::unique_ptr<Schema> schema() const { return open_schema(path_); }
    std::string path() const { return path_; }

    SqlRows query(const std::string& sql) const {
        return Driver(path_, 5s).execute({.sql = sql, .params = {}});
    }

private:
    const test::TempDir directory_;
    const std::string path_ = (directory_ / "before.db").string();
};

// Goal: files of the schema that were released are the same to the byte, and what came later and
// the views are all that is to do.
TEST_F(SqliteUpgrade, FindsNothingToDoInWhatWasReleased) {
    deploy_before();
    const SchemaReport report = schema()->report();
    EXPECT_THAT(report.pending, Contains("routines (outbox)"));
    EXPECT_THAT(report.pending, Contains("routines (inbox)"));
    EXPECT_THAT(report.pending, Each(Not(MatchesRegex("000[1-6]_.*"))));
    EXPECT_THAT(report.drift, IsEmpty());
}

// Goal: an upgrade loses nothing, and whoever writes meanwhile goes on.
// Method: a writer that was there before enqueues all the time; afterwards every message that it
// was told of is in the new view.
TEST_F(SqliteUpgrade, KeepsWhatIsThereWhileWritersRun) {
    deploy_before();
    const auto store = open_store(path());
    const Outbox outbox(*store);
    std::atomic<int> written = 0;
    std::jthread writer([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            outbox.enqueue({.topic = "t", .payload = "p"});
            ++written;
            written.notify_one();
        }
    });
    const auto wait_for_another = [&] { written.wait(written.load()); };
    wait_for_another();
    schema()->deploy();
    wait_for_another();
    writer.request_stop();
    writer.join();
    EXPECT_TRUE(schema()->report().up_to_date());
    EXPECT_EQ(query("SELECT count(*) FROM outbox WHERE status = 0"),
              (SqlRows{{std::to_string(written)}}));
    EXPECT_EQ(outbox.counts().ready, static_cast<std::uint64_t>(written));
}

// Goal: views are made anew when their text differs from what was applied, and left alone when a
// newer version made them.
TEST_F(SqliteUpgrade, ReplacesViewsWhoseTextDiffersUnlessTheyAreNewer) {
    schema()->deploy();
    const auto stale = [&](int number) {
        Driver(path(), 5s)
            .execute_script(
                "DROP VIEW outbox; CREATE VIEW outbox AS SELECT 1 AS one; "
                "UPDATE postroom_migration SET checksum = 'another', number = " +
                std::to_string(number) + " WHERE name = 'routines (outbox)'");
        schema()->deploy();
    };
    stale(6);
    EXPECT_THAT(query("SELECT * FROM outbox"), IsEmpty());
    EXPECT_TRUE(schema()->report().up_to_date());
    stale(1000);
    EXPECT_EQ(query("SELECT * FROM outbox"), (SqlRows{{"1"}}));
}

// Goal: a phrase must not take the place of a table or an index in a file that was released.
TEST(SqliteVocabulary, NoPhraseIsNamedLikeAnObjectOfTheSchema) {
    for (const Queue queue : {Queue::outbox, Queue::inbox}) {
        for (const auto& [word, text] : vocabulary().phrases(queue)) {
            for (const sql::EmbeddedMigration& file : schema_files())
                EXPECT_EQ(file.text.find("{" + word + "}"), std::string_view::npos)
                    << word << " in " << file.name;
        }
    }
}

}  // namespace
}  // namespace upgrade_test
}  // namespace postroom::sqlite
