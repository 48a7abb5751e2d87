#include "backends/mysql/host_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace postroom::mysql {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

// Goal: a machine that is gone costs the connections of half a minute nothing.
TEST(MysqlHostOrder, AHostThatCouldNotBeReachedComesLastForAWhile) {
    const HostOrder::Time now{};
    HostOrder order(3);
    EXPECT_THAT(order.at(now), ElementsAre(0, 1, 2));
    order.failed(0, now);
    EXPECT_THAT(order.at(now + 29s), ElementsAre(1, 2, 0));
    EXPECT_THAT(order.at(now + 30s), ElementsAre(0, 1, 2));
}

TEST(MysqlHostOrder, AHostThatIsThereAgainHasItsPlaceAgain) {
    const HostOrder::Time now{};
    HostOrder order(3);
    order.failed(0, now);
    order.failed(1, now);
    EXPECT_THAT(order.at(now), ElementsAre(2, 0, 1));
    order.served(0);
    EXPECT_THAT(order.at(now), ElementsAre(0, 2, 1));
}

}  // namespace
}  // namespace postroom::mysql
