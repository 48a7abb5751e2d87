#include "chaos/chaos_test.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <ostream>
#include <random>
#include <stdexcept>

#include "support/wait_until.hpp"

namespace postroom::test {

namespace {

std::uint64_t seed_of_run() {
    const char* given = std::getenv("POSTROOM_TEST_SEED");
    return given != nullptr ? std::stoull(given) : std::random_device{}();
}

}  // namespace

void ChaosDatabase::await_end_of_killed() {
    using namespace std::chrono_literals;
    if (!wait_until([this] { return sessions() == 0; }, 120s, 20ms))
        throw std::runtime_error("the server still works for processes that were killed");
}

void PrintTo(const ChaosPlace& place, std::ostream* out) { *out << place.name; }

void ChaosTest::SetUp() {
    database_ = GetParam().make();
    seed_ = seed_of_run();
    RecordProperty("seed", std::to_string(seed_));
    open_schema(database_->url())->deploy();
}

std::vector<std::string> broken_links(ChaosDatabase& database, const std::string& queue) {
    const auto table = [&](const char* suffix) { return database.table(queue + "_" + suffix); };
    std::vector<std::string> broken;
    const auto expect_none = [&](const std::string& rule, const std::string& query) {
        const std::uint64_t found = database.count(query);
        if (found > 0) broken.push_back(fmt::format("{}: {} rows", rule, found));
    };
    const std::string queued = fmt::format("(SELECT seq FROM {} UNION ALL SELECT seq FROM {})",
                                           table("live"), table("waiting"));
    expect_none("a message is not in live and in waiting",
                fmt::format("SELECT count(*) FROM {} WHERE seq IN (SELECT seq FROM {})",
                            table("live"), table("waiting")));
    // Rules of the lease table may keep a row of their own in it, numbered below every message.
    expect_none("a lease belongs to a message",
                fmt::format("SELECT count(*) FROM {} WHERE seq > 0 AND seq NOT IN {}",
                            table("lease"), queued));
    if (queue == "outbox") {
        expect_none("a delivered message is not queued any more",
                    fmt::format("SELECT count(*) FROM {} WHERE seq IN {}", table("done"), queued));
        expect_none(
            "an idempotency key belongs to a message",
            fmt::format(
                "SELECT count(*) FROM {} WHERE seq NOT IN {} AND seq NOT IN (SELECT seq FROM {})",
                table("key"), queued, table("done")));
    } else {
        expect_none("a key that names a queued message has it",
                    fmt::format("SELECT count(*) FROM {} WHERE seq IS NOT NULL AND seq NOT IN {}",
                                table("key"), queued));
        expect_none("a queued message has its key",
                    fmt::format("SELECT count(*) FROM {} q WHERE q.seq NOT IN "
                                "(SELECT k.seq FROM {} k WHERE k.seq IS NOT NULL)",
                                queued, table("key")));
    }
    return broken;
}

}  // namespace postroom::test
