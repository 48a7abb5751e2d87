// A standby takes over minutes after the schema was deployed: PostgreSQL leaves it unlogged
// sequences that nobody can read any more (see routines/queue_14_mend.sql). Claims mend them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <fstream>

#include "postroom/error.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "support/private_postgres.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

class BrokenNotesTest : public testing::Test {
protected:
    BrokenNotesTest() {
        open_schema(database_.url())->deploy();
        database_.psql(
            "CREATE ROLE worker LOGIN; GRANT USAGE ON SCHEMA infra TO worker; "
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA infra TO worker; "
            "GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA infra TO worker");
    }

    const PostgresDatabase& database() const { return database_; }
    std::string worker_url() const {
        std::string url = database_.url();
        return url.replace(url.find("postroom@"), 8, "worker");
    }

    SqlRows notes() const {
        return database_.psql(
            "SELECT c.oid::regclass, pg_relation_filepath(c.oid) FROM pg_class c "
            "WHERE c.relkind = 'S' AND c.relpersistence = 'u' AND c.relname LIKE 'outbox%' "
            "ORDER BY c.oid");
    }

    // What the standby finds on its disk: a page of zeros for every `step`-th, from `first` on.
    void break_notes(std::size_t first, std::size_t step) {
        const SqlRows all = notes();
        const std::string data = database_.psql("SHOW data_directory").at(0).at(0).value();
        server_.crash();
        for (std::size_t i = first; i < all.size(); i += step) {
            const std::string path = fmt::format("{}/{}_init", data, all[i].at(1).value());
            std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
            ASSERT_TRUE(file << std::string(8192, '\0')) << path;
        }
        server_.resume();
    }

    // As a worker, who may create nothing. How many it settled.
    std::size_t work() {
        const std::unique_ptr<Store> store = open_store(worker_url());
        const Outbox outbox(*store);
        std::size_t settled = 0;
        const auto has_both = [&] {
            try {
                // What it loses when the machine stands still for so long comes again.
                const std::vector<Message> batch = outbox.claim(outbox.owner(), 5s, 10);
                for (const Settled result : outbox.ack(batch)) settled += result == Settled::done;
            } catch (const Error& error) {
                last_error_ = error.what();
            }
            return settled >= 2;
        };
        EXPECT_TRUE(wait_until(has_both, 60s, 20ms)) << last_error_;
        return settled;
    }

    void expect_recovery(std::size_t first, std::size_t step) {
        const std::unique_ptr<Store> store = open_store(database_.url());
        Outbox(*store).enqueue_all(std::vector<NewMessage>{
            {.topic = "order.placed", .payload = "1"},
            {.topic = "order.placed", .payload = "2", .ordering_key = "a key"}});
        break_notes(first, step);
        EXPECT_EQ(work(), 2U);
        for (const auto& note : notes())
            EXPECT_THAT(database_.psql("SELECT 1 FROM " + note.at(0).value()), SizeIs(1));
    }

private:
    PrivatePostgres server_;
    PostgresDatabase database_{server_.server()};
    std::string last_error_;
};

TEST_F(BrokenNotesTest, AWorkerClaimsAllTheSame) { expect_recovery(0, 1); }

// Those that PostgreSQL happened to write are whole, that which claims look at first among them.
TEST_F(BrokenNotesTest, SomeAreMendedToo) { expect_recovery(1, 2); }
TEST_F(BrokenNotesTest, AndTheOthers) { expect_recovery(0, 2); }

}  // namespace
}  // namespace postroom::test
