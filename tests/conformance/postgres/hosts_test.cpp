// A store with several hosts, of which one stops answering.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "postroom/backend/postgres.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/private_postgres.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

// postgresql://user@host:port/database -> host:port
std::string place_of(const std::string& url) {
    const std::size_t from = url.find('@') + 1;
    return url.substr(from, url.find('/', from) - from);
}

// Goal: whoever knows of another server is there soon after the first one froze, which still takes
// connections and acknowledges whatever it is sent.
// Method: two servers with the same database; freeze the first with several connections to it open.
TEST(PostgresHosts, AFrozenServerIsLeftForTheNextHost) {
    PrivatePostgres first;
    PrivatePostgres second;
    const std::string url = first.server().url("postgres");
    for (const PrivatePostgres* server : {&first, &second})
        postgres::open_schema(server->server().url("postgres"))->deploy();
    const auto store = postgres::open_store(url.substr(0, url.find('@') + 1) + place_of(url) + "," +
                                            place_of(second.server().url("postgres")) +
                                            url.substr(url.find('/', url.find('@'))));
    const Outbox outbox(*store);
    {
        const auto one = store->begin();
        const auto other = store->begin();
        outbox.enqueue(*one, {.topic = "t", .payload = "a"});
        outbox.enqueue(*other, {.topic = "t", .payload = "b"});
        one->commit();
        other->commit();
    }
    first.freeze();
    const auto begun = std::chrono::steady_clock::now();
    const auto elapsed = [&] { return std::chrono::steady_clock::now() - begun; };
    bool stored = false;
    while (!stored && elapsed() < 90s) {
        try {
            outbox.enqueue({.topic = "t", .payload = "c"});
            stored = true;
        } catch (const Error& error) {
            EXPECT_NE(error.kind(), ErrorKind::rejected) << error.what();
        }
    }
    const auto took = elapsed();
    first.thaw();
    // Nominally 14 s; a loaded machine takes longer, and one that waits for each statement and each
    // connection as long as those may take needs 45 s and more.
    EXPECT_TRUE(stored);
    EXPECT_LT(took, 40s);
    RecordProperty("seconds", fmt::format("{}", took / 1.0s));
    EXPECT_EQ(psql(second.server().url("postgres"), "SELECT count(*) FROM infra.outbox_live"),
              (SqlRows{{"1"}}));
}

}  // namespace
}  // namespace postroom::test
