// Pools that share a budget: how many connections there are, and whose is closed for whom.
#include "postroom/tenancy.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "postroom/error.hpp"
#include "sql/pool.hpp"

namespace postroom::sql {
namespace {

using namespace std::chrono_literals;

// Which of them are open.
struct Open {
    std::multiset<char> now;
    std::size_t most = 0;
};

class Fake final : public Connection {
public:
    Fake(Open& open, char pool) : open_(open), pool_(pool) {
        open_.now.insert(pool_);
        open_.most = std::max(open_.most, open_.now.size());
    }
    ~Fake() override { open_.now.erase(open_.now.find(pool_)); }
    void run(Bracket, std::span<const Call>, const OnRow&) override {}
    void begin() override {}
    void commit() override {}
    void rollback() override {}
    bool in_transaction() const override { return false; }
    SqlRows execute(const SqlStatement&) override { return {}; }
    void execute_script(const std::string&) override {}
    bool healthy() const override { return true; }

private:
    Open& open_;
    const char pool_;
};

class ConnectionBudgetTest : public testing::Test {
protected:
    std::unique_ptr<Pool> pool(char name, bool essential = false, std::size_t max = 16) {
        return std::make_unique<Pool>(
            [this, name] { return std::make_unique<Fake>(open, name); },
            Pool::Limits{
                .connections_max = max, .wait = 50ms, .budget = budget, .essential = essential});
    }
    std::string names() const { return {open.now.begin(), open.now.end()}; }

    Open open;
    std::shared_ptr<ConnectionBudget> budget = std::make_shared<ConnectionBudget>(4);
};

TEST_F(ConnectionBudgetTest, TheOneThatIsIdleForTheLongestTimeMakesRoom) {
    const auto a = pool('a');
    const auto b = pool('b');
    const auto c = pool('c');
    const auto d = pool('d');
    for (Pool* const one : {a.get(), b.get(), c.get()}) one->acquire();
    EXPECT_EQ(names(), "abc");
    a->acquire();  // so b is now the oldest
    d->acquire();
    EXPECT_EQ(names(), "acd");
    b->acquire();
    EXPECT_EQ(names(), "abd");
    EXPECT_EQ(open.most, 3U);
    EXPECT_EQ(budget->open(), 3U);
}

TEST_F(ConnectionBudgetTest, WhatIsInUseIsNotTakenAwayAndTheWaitEnds) {
    const auto a = pool('a');
    const auto b = pool('b');
    const PooledConnection first = a->acquire();
    const PooledConnection second = a->acquire();
    {
        const PooledConnection third = a->acquire();
        EXPECT_THROW(b->acquire(), Error) << "the fourth is kept for what is essential";
    }
    b->acquire();
    EXPECT_EQ(names(), "aab");
}

TEST_F(ConnectionBudgetTest, RenewalsMayUseWhatIsKeptForThem) {
    const auto a = pool('a');
    const auto keeper = pool('k', /*essential=*/true);
    const PooledConnection first = a->acquire();
    const PooledConnection second = a->acquire();
    const PooledConnection third = a->acquire();
    const PooledConnection renewal = keeper->acquire();
    EXPECT_EQ(names(), "aaak");
    EXPECT_EQ(budget->open(), 4U);
    EXPECT_EQ(budget->open_peak(), 4U);
}

TEST_F(ConnectionBudgetTest, WhatIsKeptForRenewalsIsNotTakenAwayWhileItIsIdle) {
    const auto a = pool('a');
    const auto b = pool('b');
    const auto keeper = pool('k', /*essential=*/true);
    keeper->acquire();
    const PooledConnection first = a->acquire();
    const PooledConnection second = a->acquire();
    {
        const PooledConnection third = b->acquire();
        EXPECT_THROW(a->acquire(), Error);
        EXPECT_FALSE(ReservedConnection::of(budget));
    }
    const PooledConnection third = a->acquire();
    EXPECT_EQ(names(), "aaak") << "the idle one of an ordinary pool made room";
    const PooledConnection renewal = keeper->acquire();
    EXPECT_EQ(open.most, 4U);
}

TEST_F(ConnectionBudgetTest, RenewalsThatHaveMoreThanTheirShareMakeRoom) {
    const auto a = pool('a');
    const auto keeper = pool('k', /*essential=*/true);
    {
        const PooledConnection first = keeper->acquire();
        const PooledConnection second = keeper->acquire();
        const PooledConnection third = keeper->acquire();
        const PooledConnection fourth = keeper->acquire();
    }
    const PooledConnection first = a->acquire();
    const PooledConnection second = a->acquire();
    const PooledConnection third = a->acquire();
    EXPECT_EQ(names(), "aaak");
    EXPECT_THROW(a->acquire(), Error);
}

TEST_F(ConnectionBudgetTest, APoolKeepsItsOwnLimitToo) {
    const auto a = pool('a', false, 1);
    const PooledConnection first = a->acquire();
    EXPECT_THROW(a->acquire(), Error);
}

TEST_F(ConnectionBudgetTest, APoolThatEndsClosesWhatIsIdle) {
    const auto a = pool('a');
    pool('b')->acquire();
    a->acquire();
    EXPECT_EQ(names(), "a");
    EXPECT_EQ(budget->open(), 1U);
}

TEST_F(ConnectionBudgetTest, OneThatWaitsGetsWhatAnotherPoolGivesBack) {
    budget = std::make_shared<ConnectionBudget>(2);
    const auto a = pool('a');
    const auto b = std::make_unique<Pool>([this] { return std::make_unique<Fake>(open, 'b'); },
                                          Pool::Limits{.wait = 20s, .budget = budget});
    auto held = std::make_unique<PooledConnection>(a->acquire());
    std::jthread waiter([&] { b->acquire(); });
    std::this_thread::sleep_for(20ms);
    held.reset();
    waiter.join();
    EXPECT_EQ(names(), "b");
}

TEST_F(ConnectionBudgetTest, BellsGetHalfAndNoMore) {
    EXPECT_TRUE(ReservedConnection::of(nullptr));
    const auto first = ReservedConnection::of(budget);
    {
        const auto second = ReservedConnection::of(budget);
        EXPECT_TRUE(first && second);
        EXPECT_FALSE(ReservedConnection::of(budget));
        EXPECT_EQ(budget->open(), 2U);
    }
    EXPECT_TRUE(ReservedConnection::of(budget));
    EXPECT_THROW(ConnectionBudget(1), std::invalid_argument);
}

TEST_F(ConnectionBudgetTest, BellsLeaveAPlaceForTheWorkItself) {
    EXPECT_FALSE(ReservedConnection::of(std::make_shared<ConnectionBudget>(2)));
    EXPECT_TRUE(ReservedConnection::of(std::make_shared<ConnectionBudget>(3)));
}

}  // namespace
}  // namespace postroom::sql
