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
    // Whether stores came or went.
    bool update(const std::vector<DiscoveredDatabase>& databases) {
        const std::vector<StorePtr> before = set.stores();
        failures.clear();
        for (const StoreSet::Missing& missing : set.update(databases).missing) {
            try {
                set.add(missing, open_as(missing.database, open));
            } catch (const std::runtime_error&) {
                set.failed(missing);
                failures.push_back(missing.database.id);
            }
        }
        return set.stores() != before;
    }
    std::vector<std::string> ids() const {
        std::vector<std::string> out;
        for (const StorePtr& store : set.stores()) out.push_back(store->id());
        return out;
    }

    StoreSet set;
    int opened = 0;
    std::vector<std::string> failures;
    const OpenStore open = [this](const std::string& url, const OpenOptions& options) {
        if (url == "down") throw std::runtime_error("no answer");
        ++opened;
        return std::make_unique<MemoryStore>(options);
    };
};

using Ids = std::vector<std::string>;

TEST_F(StoreSetTest, OBX_070_IBX_089_AStoreCarriesTheIdOfItsDatabase) {
    EXPECT_TRUE(update({database("north"), database("south")}));
    EXPECT_EQ(ids(), (Ids{"north", "south"}));
}

TEST_F(StoreSetTest, OBX_079_IBX_097_WhatIsDescribedAsBeforeKeepsItsStoreAndItsPlace) {
    update({database("a"), database("b"), database("c")});
    const std::vector<StorePtr> before = set.stores();
    EXPECT_FALSE(update({database("c"), database("a"), database("b")}));
    EXPECT_EQ(set.stores(), before);
    EXPECT_EQ(opened, 3);
}

TEST_F(StoreSetTest, OBX_077_IBX_095_ANewDatabaseGetsAStoreAtTheEnd) {
    update({database("a")});
    const StorePtr kept = set.stores().front();
    EXPECT_TRUE(update({database("b"), database("a")}));
    EXPECT_EQ(ids(), (Ids{"a", "b"}));
    EXPECT_EQ(set.stores().front(), kept);
}

TEST_F(StoreSetTest, OBX_078_IBX_096_ADatabaseThatIsGoneLosesItsStore) {
    update({database("a"), database("b")});
    const std::weak_ptr<Store> gone = set.stores().front();
    EXPECT_TRUE(update({database("b")}));
    EXPECT_EQ(ids(), (Ids{"b"}));
    EXPECT_TRUE(gone.expired());
}

TEST_F(StoreSetTest, AnotherUrlOrAnotherOptionIsAnotherStore) {
    update({database("a")});
    const StorePtr first = set.stores().front();
    EXPECT_TRUE(update({database("a", "memory:other")}));
    const StorePtr second = set.stores().front();
    EXPECT_NE(first, second);
    DiscoveredDatabase changed = database("a", "memory:other");
    changed.options.pool_max = 3;
    EXPECT_TRUE(update({changed}));
    EXPECT_NE(set.stores().front(), second);
    EXPECT_EQ(ids(), (Ids{"a"}));
}

TEST_F(StoreSetTest, OneThatCannotBeOpenedIsLeftOutAndTriedAgainNextTime) {
    EXPECT_TRUE(update({database("a", "down"), database("b")}));
    EXPECT_EQ(failures, (Ids{"a"}));
    EXPECT_EQ(ids(), (Ids{"b"}));
    update({database("a", "down"), database("b")});
    EXPECT_EQ(failures, (Ids{"a"}));
    update({database("a"), database("b")});
    EXPECT_EQ(failures, (Ids{}));
    EXPECT_EQ(ids(), (Ids{"b", "a"}));
}

TEST_F(StoreSetTest, WhatFailedLastTimeIsOpenedAfterTheOthers) {
    update({database("a", "down"), database("b", "down")});
    std::string order;
    for (const StoreSet::Missing& missing :
         set.update({database("a"), database("c"), database("b"), database("d")}).missing)
        order += missing.database.id;
    EXPECT_EQ(order, "cdab");
}

TEST_F(StoreSetTest, StoresStandInTheOrderOfTheListInWhateverOrderTheyOpen) {
    update({database("a")});
    const StoreSet::Change change = set.update({database("b"), database("c"), database("a")});
    ASSERT_EQ(change.missing.size(), 2U);
    set.add(change.missing[1], open_as(change.missing[1].database, open));
    set.add(change.missing[0], open_as(change.missing[0].database, open));
    EXPECT_EQ(ids(), (Ids{"a", "b", "c"}));
}

TEST_F(StoreSetTest, ADatabaseThatMovedKeepsItsOldStoreUntilTheNewOneIsOpen) {
    update({database("a")});
    const StorePtr old = set.stores().front();
    const StoreSet::Change change = set.update({database("a", "memory:other")});
    EXPECT_FALSE(change.removed);
    EXPECT_EQ(set.stores(), (std::vector{old}));
    set.add(change.missing.at(0), open_as(change.missing[0].database, open));
    EXPECT_EQ(ids(), (Ids{"a"}));
    EXPECT_NE(set.stores().front(), old);
    const StoreSet::Change again = set.update({database("a", "down")});
    EXPECT_TRUE(set.failed(again.missing.at(0)));
    EXPECT_EQ(ids(), (Ids{}));
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
