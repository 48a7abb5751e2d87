#include "backends/sqlite/open_file.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include <sqlite3.h>
#include <sys/stat.h>

#include "support/temp_dir.hpp"

namespace postroom::sqlite::open_file_test {
namespace {

using namespace std::chrono_literals;

unsigned rights(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777U;
}

TEST(SqliteOpenFile, ANewFileIsForItsOwnerAlone) {
    const test::TempDir folder;
    const std::string path = (folder / "shop.db").string();
    BusyWait busy(1s);
    const OpenFile file = open_file(path, busy);
    sqlite3_exec(file.get(), "CREATE TABLE t (a)", nullptr, nullptr, nullptr);
    for (const char* suffix : {"", "-wal", "-shm"})
        EXPECT_EQ(rights(path + suffix), 0600U) << suffix;
}

TEST(SqliteOpenFile, AFileThatIsThereKeepsItsRights) {
    const test::TempDir folder;
    const std::string path = (folder / "shop.db").string();
    BusyWait busy(1s);
    open_file(path, busy);
    ::chmod(path.c_str(), 0660);
    const OpenFile file = open_file(path, busy);
    sqlite3_exec(file.get(), "CREATE TABLE t (a)", nullptr, nullptr, nullptr);
    EXPECT_EQ(rights(path), 0660U);
    EXPECT_EQ(rights(path + "-wal"), 0660U);
}

}  // namespace
}  // namespace postroom::sqlite::open_file_test
