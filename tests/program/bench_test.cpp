// `postroom bench` in a user's database: it measures, and leaves everything as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "program/program_on.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::bench_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class BenchOn : public ProgramOn {
protected:
    std::string bench_table() const {
        return std::string(on("postgres") ? "postroom_bench." : "") + "postroom_bench_outbox_live";
    }
};

TEST_P(BenchOn, MeasuresBesideTheUsersQueuesAndLeavesThemAsTheyWere) {
    folder.good({"migrate", "up"});
    enqueue("order.placed");
    const SqlRows before = objects();
    const std::string figures = folder.good({"bench", "--seconds", "1", "--json"});
    for (const char* name :
         {"latency_own_process", "latency_other_process", "enqueue", "enqueue_all", "drain"})
        EXPECT_THAT(figures, HasSubstr("{\"name\":\"" + std::string(name) + "\",\"messages\":"));
    EXPECT_EQ(count_of(figures, "\"messages\":0,"), 0U) << figures;
    EXPECT_EQ(objects(), before);
    EXPECT_EQ(listed({"--state", "ready"}), 1U);
    folder.good({"migrate", "status"});  // nothing pending, no drift
}

TEST_P(BenchOn, InterruptedItLeavesAnEmptyDatabaseEmpty) {
    const SqlRows before = objects();
    ChildProcess bench = folder.start({"bench", "--seconds", "600"});
    ASSERT_TRUE(wait_until([&] { return objects() != before; }, 90s));
    bench.kill(SIGTERM);
    EXPECT_EQ(bench.wait(90s), (ExitStatus{.code = 1, .signal = {}}));
    EXPECT_EQ(folder.read("err"), "postroom: interrupted\n");
    EXPECT_EQ(objects(), before);
}

TEST_P(BenchOn, WhatHasItsNameIsLeftAloneUntilTheUserSaysSo) {
    if (on("postgres")) sql("CREATE SCHEMA postroom_bench");
    sql("CREATE TABLE " + bench_table() + " (mine int)");
    sql("INSERT INTO " + bench_table() + " VALUES (17)");
    const SqlRows before = objects();
    const Ran refused = folder.run({"bench", "--seconds", "1"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("there is something named postroom_bench already"));
    EXPECT_EQ(objects(), before);
    EXPECT_EQ(one_value("SELECT mine FROM " + bench_table()), "17");

    EXPECT_THAT(folder.good({"bench", "--clean", "--dry-run"}), HasSubstr("would remove"));
    EXPECT_EQ(objects(), before);
    folder.good({"bench", "--clean"});
    EXPECT_NE(objects(), before);
    folder.good({"bench", "--seconds", "1", "--json"});
}

TEST_P(BenchOn, OptionsAreChecked) {
    const Ran seconds = folder.run({"bench", "--seconds", "0"});
    EXPECT_EQ(seconds.code, 2);
    EXPECT_THAT(seconds.err, HasSubstr("--seconds must be a whole number from 1 to 600"));
    EXPECT_EQ(folder.run({"bench", "--payload-bytes", "many"}).code, 2);
    const SqlRows before = objects();
    EXPECT_THAT(folder.good({"bench", "--dry-run"}), HasSubstr("would create, fill and remove"));
    EXPECT_EQ(objects(), before);
}

POSTROOM_ON_ALL_DATABASES(BenchOn);

}  // namespace
}  // namespace postroom::test::bench_test
