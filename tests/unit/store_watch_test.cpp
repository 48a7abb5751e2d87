// What an admin server knows of its stores without asking them for each request.
#include "admin/http/store_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "admin/pauses.hpp"
#include "postroom/testing.hpp"

namespace postroom::test::store_watch_test {
namespace {

using testing::SizeIs;

// The look of the watch's own thread may begin before a change and end after the look that
// follows the change.
TEST(StoreWatch, AnOlderLookDoesNotUndoWhatANewerOneSaw) {
    ManualClock clock;
    MemoryStore store{clock, {.store_id = "main"}};
    FixedStores stores{store};
    StoreMetrics metrics;
    admin::Traffic traffic;
    AdminOptions options;
    admin::StoreWatch watch(stores, metrics, traffic, options);
    bool paused = false;
    options.schema = [&](const std::string&) {  // asked last in a look
        if (!std::exchange(paused, true)) {
            admin::set_paused(store, "order.*", true);
            watch.look_at(store);
        }
        return SchemaReport{.version = 1};
    };
    watch.look_at(store);
    EXPECT_THAT(watch.views().at(store.id()).paused, SizeIs(1));
    admin::set_paused(store, "order.*", false);
    watch.look_at(store);
    EXPECT_THAT(watch.views().at(store.id()).paused, SizeIs(0));
}

}  // namespace
}  // namespace postroom::test::store_watch_test
