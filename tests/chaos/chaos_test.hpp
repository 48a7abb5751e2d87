// ChaosTest: a database on which threads and killed processes work at the same time.
//
// The tests in this folder are written against ChaosDatabase and run on every database that
// describes itself in a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "postroom/open_store.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {

class ChaosDatabase {
public:
    ChaosDatabase() = default;
    ChaosDatabase(const ChaosDatabase&) = delete;
    ChaosDatabase& operator=(const ChaosDatabase&) = delete;
    virtual ~ChaosDatabase() = default;

    virtual const std::string& url() const = 0;
    // Runs statements on a connection that has nothing to do with the library; the rows of the last
    // one.
    virtual std::vector<std::vector<std::optional<std::string>>> sql(const std::string& text) = 0;
    // How the engine writes the table infra.`name`.
    virtual std::string table(const std::string& name) const = 0;
    // From now on the database refuses new outbox messages of this topic.
    virtual void refuse_topic(const std::string& topic) {
        sql("ALTER TABLE " + table("outbox_live") + " ADD CONSTRAINT refused CHECK (topic <> '" +
            topic + "')");
    }
    // Returns when the server has finished what processes that were killed had asked it for: it
    // may commit for them long after they are gone. Nobody else may have the store open.
    void await_end_of_killed();
    // What the engine's own integrity check complains about.
    virtual std::vector<std::string> damage() = 0;

    std::uint64_t count(const std::string& query) {
        return std::stoull(sql(query).at(0).at(0).value());
    }

protected:
    // Sessions of the library on this database; none where a killed process leaves nothing behind,
    // or where an account like ours may not ask.
    virtual std::uint64_t sessions() { return 0; }
};

struct ChaosPlace {
    std::string name;
    std::uint64_t kills = 0;  // of queue children at full load
    // How long children may take to get something done before one of them is killed.
    std::chrono::milliseconds patience{};
    std::function<std::unique_ptr<ChaosDatabase>()> make;
};

void PrintTo(const ChaosPlace& place, std::ostream* out);

class ChaosTest : public testing::TestWithParam<ChaosPlace> {
protected:
    // An empty store, its schema deployed.
    void SetUp() override;

    ChaosDatabase& database() { return *database_; }
    std::unique_ptr<Store> open(std::size_t pool_max = 16) {
        return open_store(database_->url(), {.pool_max = pool_max});
    }
    // A folder of this test.
    const TempDir& folder() const { return folder_; }

    // Printed by every test that draws, so that a failure can be repeated: POSTROOM_TEST_SEED sets
    // it.
    std::uint64_t seed() const { return seed_; }

private:
    TempDir folder_;
    std::unique_ptr<ChaosDatabase> database_;
    std::uint64_t seed_ = 0;
};

class KillTest : public ChaosTest {};
class ClaimRaceTest : public ChaosTest {};
class InboxOnceTest : public ChaosTest {};
class GroupCommitTest : public ChaosTest {};
class DispatcherProcessTest : public ChaosTest {};

// What must hold between the tables of `queue` ("outbox" or "inbox") at any moment: a message is in
// one table, a lease and a key belong to a message. One line for each rule that does not hold.
std::vector<std::string> broken_links(ChaosDatabase& database, const std::string& queue);

}  // namespace postroom::test

#define POSTROOM_CHAOS_SUITE(suite, place)                    \
    INSTANTIATE_TEST_SUITE_P(, suite, testing::Values(place), \
                             [](const auto& place_info) { return place_info.param.name; })

#define POSTROOM_CHAOS_SUITES(place)              \
    POSTROOM_CHAOS_SUITE(KillTest, place);        \
    POSTROOM_CHAOS_SUITE(ClaimRaceTest, place);   \
    POSTROOM_CHAOS_SUITE(InboxOnceTest, place);   \
    POSTROOM_CHAOS_SUITE(GroupCommitTest, place); \
    POSTROOM_CHAOS_SUITE(DispatcherProcessTest, place)
