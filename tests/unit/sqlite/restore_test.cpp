// The restore guard on a file: copied, renamed, put back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "postroom/backend/sqlite.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlite::restore_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class SqliteRestore : public testing::Test {
protected:
    std::unique_ptr<Store> open(const std::string& name) const {
        return sqlite::open_store((folder / name).string(),
                                  {.deploy_schema = true,
                                   .restore_guard = {.on = true,
                                                     .state_dir = memory.path().string(),
                                                     .raise_interval = {},
                                                     .settled_after = {}}});
    }
    std::vector<Message> claim(const std::string& name) const { return claim(*open(name)); }
    static std::vector<Message> claim(Store& store) {
        return store.claim(Queue::outbox, {.owner = OwnerToken::generate(), .batch = 10});
    }
    std::string refusal(const std::string& name) const {
        try {
            claim(name);
        } catch (const Error& error) {
            return error.what();
        }
        return "nothing";
    }
    void copy(const std::string& from, const std::string& to) const {
        std::filesystem::copy_file(folder / from, folder / to,
                                   std::filesystem::copy_options::overwrite_existing);
    }
    void put(const std::string& name) const {
        Outbox(*open(name)).enqueue({.topic = "t", .payload = "p"});
    }

    test::TempDir folder;
    test::TempDir memory;
};

TEST_F(SqliteRestore, ACopyIsHeldAndTheOriginalIsNot) {
    claim("shop.db");
    put("shop.db");
    copy("shop.db", "staging.db");
    EXPECT_THAT(refusal("staging.db"), HasSubstr("this database is a copy"));
    EXPECT_THAT(claim("shop.db"), SizeIs(1));
}

TEST_F(SqliteRestore, ARenamedFileIsNotHeld) {
    claim("shop.db");
    put("shop.db");
    std::filesystem::rename(folder / "shop.db", folder / "orders.db");
    EXPECT_THAT(claim("orders.db"), SizeIs(1));
    // And its new name is its home.
    copy("orders.db", "shop.db");
    EXPECT_THAT(refusal("shop.db"), HasSubstr("this database is a copy"));
}

TEST_F(SqliteRestore, ABackupThatIsPutBackIsHeldOverTheFileAndInItsPlace) {
    put("shop.db");
    claim("shop.db");
    copy("shop.db", "backup");
    claim("shop.db");
    copy("backup", "shop.db");
    EXPECT_THAT(refusal("shop.db"), HasSubstr("has gone back in time"));
    restore_controls_of(*open("shop.db"))->end_hold("continue", "ann");
    EXPECT_EQ(refusal("shop.db"), "nothing");
    std::filesystem::rename(folder / "backup", folder / "shop.db");
    EXPECT_THAT(refusal("shop.db"), HasSubstr("has gone back in time"));
}

// Goal: a worker that goes on while the file is exchanged does not claim from the new one, nor from
// what it still has open of the old one.
// Method: its connection is in use, so that the next look needs a new one, which finds the backup.
TEST_F(SqliteRestore, AFileThatIsExchangedUnderAWorkerIsNoticedByItsNextConnection) {
    const std::unique_ptr<Store> worker = open("shop.db");
    claim(*worker);
    std::filesystem::copy_file(folder / "shop.db", folder / "backup");
    std::filesystem::copy_file(folder / "shop.db-wal", folder / "backup-wal");
    claim(*worker);
    put("shop.db");
    for (const char* suffix : {"", "-wal"})
        std::filesystem::rename((folder / "backup").string() + suffix,
                                (folder / "shop.db").string() + suffix);
    std::filesystem::remove(folder / "shop.db-shm");
    {
        const std::unique_ptr<Transaction> keeps_the_connection = worker->begin();
        EXPECT_THROW((void)worker->find(Queue::outbox, {}), Error);
    }
    EXPECT_THROW(claim(*worker), Error);
    EXPECT_THROW(claim(*worker), Error);
}

}  // namespace
}  // namespace postroom::sqlite::restore_test
