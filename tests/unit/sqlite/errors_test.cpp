// What goes wrong with an SQLite file, and how it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>

#include "backends/sqlite/driver.hpp"
#include "backends/sqlite/errors.hpp"
#include "postroom/backend/sqlite.hpp"
#include "postroom/error.hpp"
#include "support/error_of.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlite::errors_test {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

constexpr Duration timeout = 5s;

TEST(SqliteErrors, CodesTellWhatMayBeDone) {
    EXPECT_EQ(kind_of(SQLITE_BUSY), ErrorKind::conflict);
    EXPECT_EQ(kind_of(SQLITE_BUSY_SNAPSHOT), ErrorKind::conflict);
    EXPECT_EQ(kind_of(SQLITE_BUSY_RECOVERY), ErrorKind::conflict);
    EXPECT_EQ(kind_of(SQLITE_LOCKED_SHAREDCACHE), ErrorKind::conflict);
    EXPECT_EQ(kind_of(SQLITE_IOERR_WRITE), ErrorKind::unavailable);
    EXPECT_EQ(kind_of(SQLITE_CANTOPEN), ErrorKind::unavailable);
    EXPECT_EQ(kind_of(SQLITE_FULL), ErrorKind::unavailable);
    EXPECT_EQ(kind_of(SQLITE_CONSTRAINT_CHECK), ErrorKind::rejected);
    EXPECT_EQ(kind_of(SQLITE_NOTADB), ErrorKind::rejected);
    EXPECT_EQ(kind_of(SQLITE_CORRUPT_INDEX), ErrorKind::rejected);
    EXPECT_EQ(kind_of(SQLITE_READONLY), ErrorKind::rejected);
    EXPECT_EQ(kind_of(SQLITE_MISUSE), ErrorKind::misuse);
}

TEST(SqliteErrors, AMissingDirectoryIsNamed) {
    const test::TempDir directory;
    const std::string path = (directory / "missing/shop.db").string();
    const Error error = error_of([&] { open_store(path); });
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    EXPECT_THAT(error.what(), AllOf(HasSubstr(path), HasSubstr("No such file or directory")));
}

TEST(SqliteErrors, AForeignFileIsRejectedByName) {
    const test::TempDir directory;
    const std::string path = (directory / "letter.txt").string();
    std::ofstream(path) << std::string(4096, 'x');
    const Error error = error_of([&] { open_store(path); });
    EXPECT_EQ(error.kind(), ErrorKind::rejected);
    EXPECT_THAT(error.what(), AllOf(HasSubstr(path), HasSubstr("not a database")));
}

TEST(SqliteErrors, AReadOnlyFileIsRejectedByName) {
    const test::TempDir directory;
    const std::string path = (directory / "shop.db").string();
    open_store(path);
    ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
    ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
    std::string what;
    // Rights do not bind root; this thread gives up its own for the file system alone.
    std::jthread([&] {
        constexpr uid_t nobody = 65534;
        if (::geteuid() == 0) ::setfsuid(nobody);
        what = error_of([&] { Driver(path, timeout); }).what();
    }).join();
    EXPECT_THAT(what, AllOf(HasSubstr(path), HasSubstr("read-only")));
}

TEST(SqliteErrors, ADatabaseInMemoryIsRefused) {
    try {
        open_store(":memory:");
        FAIL() << "opened";
    } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr(":memory:"), HasSubstr("MemoryStore")));
    }
    EXPECT_THROW(open_store(""), std::invalid_argument);
    EXPECT_THROW(open_store(std::string("a\0b", 3)), std::invalid_argument);
}

TEST(SqliteErrors, UrlsLeadToFiles) {
    const test::TempDir directory;
    const std::string path = (directory / "shop.db").string();
    EXPECT_NO_THROW(open_url("sqlite:" + path, {}));
    EXPECT_NO_THROW(open_url("sqlite://" + path, {}));
    EXPECT_NO_THROW(open_schema_url("sqlite:" + path, {}));
    EXPECT_THROW(open_url("sqlite://host/shop.db", {}), std::invalid_argument);
    EXPECT_THROW(open_url("sqlite:", {}), std::invalid_argument);
    EXPECT_THROW(open_url("postgresql://host/shop", {}), std::invalid_argument);
}

TEST(SqliteErrors, AMissingTableHintsAtTheSchema) {
    const test::TempDir directory;
    const auto store = open_store((directory / "shop.db").string());
    const Error error = error_of([&] { store->counts(Queue::outbox); });
    EXPECT_EQ(error.kind(), ErrorKind::rejected);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("no such table"), HasSubstr("deploy_schema")));
}

TEST(SqliteErrors, AFullDiskIsUnavailableAndSaysSo) {
    const test::TempDir directory;
    Driver driver((directory / "shop.db").string(), timeout);
    driver.execute_script("CREATE TABLE t (b BLOB); PRAGMA max_page_count = 4");
    const Error error =
        error_of([&] { driver.execute_script("INSERT INTO t VALUES (zeroblob(1000000))"); });
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("no space is left"));
    EXPECT_FALSE(driver.healthy());
}

TEST(SqliteErrors, AHandleOfAnotherTransactionIsMisuse) {
    const test::TempDir directory;
    const auto store = open_store((directory / "shop.db").string());
    const auto tx = store->begin();
    EXPECT_NE(handle(*tx), nullptr);
    tx->rollback();
    EXPECT_EQ(error_of([&] { handle(*tx); }).kind(), ErrorKind::misuse);
}

}  // namespace
}  // namespace postroom::sqlite::errors_test
