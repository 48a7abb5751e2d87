// A commit waits for a synchronous standby in vain, and somebody cancels it: PostgreSQL confirms it
// with no more than a warning. Nobody may take that for done.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "postroom/error.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "support/private_postgres.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

class MissingStandbyTest : public testing::Test {
protected:
    MissingStandbyTest() {
        open_schema(database_.url())->deploy();
        store_ = open_store(database_.url());
        outbox_ = std::make_unique<Outbox>(*store_);
        database_.psql("ALTER SYSTEM SET synchronous_standby_names = 'absent'");
        database_.psql("SELECT pg_reload_conf()");
    }
    // Else dropping the database would wait for it too.
    ~MissingStandbyTest() override {
        database_.psql("ALTER SYSTEM RESET synchronous_standby_names");
        database_.psql("SELECT pg_reload_conf()");
    }

    Store& store() { return *store_; }
    const Outbox& outbox() { return *outbox_; }
    static NewMessage message() { return {.topic = "order.placed", .payload = "{}"}; }
    // From the moment on that the server knows of its new setting.
    template <class Work>
    void expect_unknown(const Work& work) {
        const std::jthread operator_on_duty([this](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                database_.psql(
                    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
                    "WHERE wait_event = 'SyncRep'");
                std::this_thread::sleep_for(50ms);
            }
        });
        const auto is_unknown = [&] {
            try {
                work();
                return false;
            } catch (const Error& error) {
                return error.kind() == ErrorKind::outcome_unknown;
            }
        };
        EXPECT_TRUE(wait_until(is_unknown, 20s)) << "what no standby has counts as committed";
    }

private:
    PrivatePostgres server_{PrivatePostgres::Durability::fast};
    PostgresDatabase database_{server_.server()};
    std::unique_ptr<Store> store_;
    std::unique_ptr<Outbox> outbox_;
};

TEST_F(MissingStandbyTest, ACancelledWaitIsNotSaidToBeDone) {
    expect_unknown([this] {
        const std::unique_ptr<Transaction> tx = store().begin();
        outbox().enqueue(*tx, message());
        tx->commit();
    });
}

TEST_F(MissingStandbyTest, NeitherIsOneThatTravelsWithItsMessage) {
    expect_unknown([this] {
        const std::unique_ptr<Transaction> tx = store().begin();
        outbox().post(*tx, message());
        tx->commit();
    });
}

TEST_F(MissingStandbyTest, NorOneOfTheStore) {
    expect_unknown([this] { outbox().enqueue(message()); });
}

}  // namespace
}  // namespace postroom::test
