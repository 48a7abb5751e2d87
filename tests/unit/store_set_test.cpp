// Bringing the stores up to date from one list of databases to the next.
#include "tenancy/store_set.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "postroom/testing.hpp"

namespace postroom {
namespace {

class StoreSetTest : public testing::Test {
protected:
    static DiscoveredDatabase database(const std::string& id, const std::string& url = "memory:") {
        return {.id = id, .url = url};
    }
    StoreSet::Change update(const std::vector<DiscoveredDatabase>& databases) {
        return set.update(databases, [&](const std::string& url, const OpenOptions& options) {
            if (url == "down") throw std::runtime_error("no answer");
            ++opened;
            return std::make_unique<MemoryStore>(options);
        });
    }
    std::vector<std::string> ids() const {
        std::vector<std::string> out;
        for (const StorePtr& store : set.stores()) out.push_back(store->id());
        return out;
    }

    StoreSet set;
    int opened = 0;
};

using Ids = std::vector<std::string>;

TEST_F(StoreSetTest, OBX_070_IBX_089_AStoreCarriesTheIdOfItsDatabase) {
    EXPECT_TRUE(update({database("north"), database("south")}).any);
    EXPECT_EQ(ids(), (Ids{"north", "south"}));
}

TEST_F(StoreSetTest, OBX_079_IBX_097_WhatIsDescribedAsBeforeKeepsItsStoreAndItsPlace) {
    update({database("a"), database("b"), database("c")});
    const std::vector<StorePtr> before = set.stores();
    const StoreSet::Change change = update({database("c"), database("a"), database("b")});
    EXPECT_FALSE(change.any);
    EXPECT_EQ(set.stores(), before);
    EXPECT_EQ(opened, 3);
}

TEST_F(StoreSetTest, OBX_077_IBX_095_ANewDatabaseGetsAStoreAtTheEnd) {
    update({database("a")});
    const StorePtr kept = set.stores().front();
    EXPECT_TRUE(update({database("b"), database("a")}).any);
    EXPECT_EQ(ids(), (Ids{"a", "b"}));
    EXPECT_EQ(set.stores().front(), kept);
}

TEST_F(StoreSetTest, OBX_078_IBX_096_ADatabaseThatIsGoneLosesItsStore) {
    update({database("a"), database("b")});
    const std::weak_ptr<Store> gone = set.stores().front();
    EXPECT_TRUE(update({database("b")}).any);
    EXPECT_EQ(ids(), (Ids{"b"}));
    EXPECT_TRUE(gone.expired());
}

TEST_F(StoreSetTest, AnotherUrlOrAnotherOptionIsAnotherStore) {
    update({database("a")});
    const StorePtr first = set.stores().front();
    EXPECT_TRUE(update({database("a", "memory:other")}).any);
    const StorePtr second = set.stores().front();
    EXPECT_NE(first, second);
    DiscoveredDatabase changed = database("a", "memory:other");
    changed.options.pool_max = 3;
    EXPECT_TRUE(update({changed}).any);
    EXPECT_NE(set.stores().front(), second);
    EXPECT_EQ(ids(), (Ids{"a"}));
}

TEST_F(StoreSetTest, OneThatCannotBeOpenedIsLeftOutAndTriedAgainNextTime) {
    const StoreSet::Change change = update({database("a", "down"), database("b")});
    EXPECT_TRUE(change.any);
    ASSERT_EQ(change.failures.size(), 1U);
    EXPECT_EQ(change.failures[0].id, "a");
    EXPECT_EQ(change.failures[0].error, "no answer");
    EXPECT_EQ(ids(), (Ids{"b"}));
    EXPECT_EQ(update({database("a", "down"), database("b")}).failures.size(), 1U);
    EXPECT_TRUE(update({database("a"), database("b")}).failures.empty());
    EXPECT_EQ(ids(), (Ids{"b", "a"}));
}

TEST_F(StoreSetTest, TwoOfOneIdAreRefusedAndNothingChanges) {
    update({database("a"), database("b")});
    EXPECT_THROW(update({database("c"), database("c")}), std::invalid_argument);
    EXPECT_THROW(update({database("")}), std::invalid_argument);
    EXPECT_EQ(ids(), (Ids{"a", "b"}));
}

TEST(FixedStores, OBX_070_IBX_089_TwoStoresOfOneIdAreRefused) {
    const auto store = [](const char* id) {
        return std::make_shared<MemoryStore>(OpenOptions{.store_id = id});
    };
    EXPECT_THROW(FixedStores({store("a"), store("a")}), std::invalid_argument);
    EXPECT_THROW(FixedStores({store("a"), nullptr}), std::invalid_argument);
    const FixedStores stores({store("a"), store("b")});
    EXPECT_EQ(stores.find("b"), stores.stores()[1]);
    EXPECT_EQ(stores.find("c"), nullptr);
}

}  // namespace
}  // namespace postroom
