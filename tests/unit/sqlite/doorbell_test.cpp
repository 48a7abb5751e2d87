// The doorbell of SQLite: what it needs of a file, and what it leaves alone.
#include "backends/sqlite/doorbell.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "backends/sqlite/driver.hpp"
#include "postroom/error.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlite::doorbell_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class SqliteDoorbell : public testing::Test {
protected:
    SqliteDoorbell() : path((directory / "store.db").string()), writer(path, 5s) {
        writer.execute_script("CREATE TABLE business (id INTEGER)");
    }

    test::TempDir directory;
    std::string path;
    Driver writer;
};

TEST_F(SqliteDoorbell, HearsAnyCommitAndNothingElse) {
    FileDoorbell bell(path);
    EXPECT_TRUE(bell.wait(1s, {})) << "what was missed is not known";
    EXPECT_FALSE(bell.wait(50ms, {}));
    writer.begin();
    writer.execute_script("INSERT INTO business VALUES (1)");
    EXPECT_FALSE(bell.wait(50ms, {}));
    writer.rollback();
    EXPECT_FALSE(bell.wait(50ms, {}));
    writer.execute_script("INSERT INTO business VALUES (2)");
    EXPECT_TRUE(bell.wait(1s, {}));
    EXPECT_FALSE(bell.wait(50ms, {}));
}

TEST_F(SqliteDoorbell, KeepsNoCheckpointBack) {
    FileDoorbell bell(path);
    bell.wait(1s, {});
    writer.execute_script("INSERT INTO business VALUES (1)");
    bell.wait(1s, {});
    const SqlRows answer = writer.execute({.sql = "PRAGMA wal_checkpoint(TRUNCATE)", .params = {}});
    EXPECT_EQ(answer.at(0).at(0), "0") << "busy";
    EXPECT_EQ(std::filesystem::file_size(path + "-wal"), 0U);
}

TEST_F(SqliteDoorbell, AMissingFileIsUnavailableUntilItIsThere) {
    const std::string missing = (directory / "later.db").string();
    FileDoorbell bell(missing);
    for (int i = 0; i < 2; ++i) {
        try {
            bell.wait(1s, {});
            FAIL() << "watched a file that is not there";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::unavailable);
            EXPECT_NE(std::string(error.what()).find(missing), std::string::npos);
        }
    }
    EXPECT_FALSE(std::filesystem::exists(missing));
    Driver(missing, 1s).execute_script("CREATE TABLE business (id INTEGER)");
    EXPECT_TRUE(bell.wait(1s, {}));
}

TEST(SqliteDoorbellWithoutFile, SleepsUntilTheTimeout) {
    for (const char* path : {":memory:", ""}) {
        FileDoorbell bell(path);
        const auto start = steady_clock::now();
        EXPECT_FALSE(bell.wait(100ms, {}));
        EXPECT_GE(steady_clock::now() - start, 100ms);
    }
}

}  // namespace
}  // namespace postroom::sqlite::doorbell_test
