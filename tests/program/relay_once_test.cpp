// relay --once where claims do not find at once what is due.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/program_on.hpp"

namespace postroom::test {
namespace {

using testing::HasSubstr;

class RelayOnceOn : public ProgramOn {};

// Goal: the relay does not end as long as something is due that claims will find.
// Method: a message below the number from which claims look, as one whose transaction was committed
// late, and a janitor whose next round is due in a few seconds.
TEST_P(RelayOnceOn, DeliversWhatWasCommittedBehindTheClaims) {
    folder.good({"migrate", "up"});
    enqueue("late");
    sql("SELECT setval('infra.outbox_mark', 1000), setval('infra.outbox_floor', 900), "
        "setval('infra.outbox_look_at', now.ms + 3000), "
        "setval('infra.outbox_full_look_at', now.ms + 4000), "
        "setval('infra.outbox_lease_due', now.ms + 20000) "
        "FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms) now");
    const Ran ran = folder.run({"relay", "--once"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("\"event\":\"RELAY_ONCE\",\"delivered\":1,\"left\":0"));
}

INSTANTIATE_TEST_SUITE_P(Postgres, RelayOnceOn, testing::Values("postgres"));

}  // namespace
}  // namespace postroom::test
