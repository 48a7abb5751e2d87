// Rows that a plain INSERT may leave and that PostgreSQL itself cannot hand out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/postgres/session.hpp"
#include "postroom/backend/postgres.hpp"
#include "postroom/outbox.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// A database with an encoding in which some bytes stand for no character: the server takes them,
// and cannot send them as UTF-8.
class Windows1252 {
public:
    Windows1252() {
        psql(server_.url("postgres"), "CREATE DATABASE " + name_ +
                                          " TEMPLATE template0 ENCODING 'WIN1252' "
                                          "LC_COLLATE 'C' LC_CTYPE 'C'");
    }
    ~Windows1252() { server_.drop_database(name_); }
    Windows1252(const Windows1252&) = delete;
    Windows1252& operator=(const Windows1252&) = delete;

    std::string url() const { return server_.url(name_); }

private:
    const PostgresServer server_;
    const std::string name_ = "windows_" + std::to_string(getpid());
};

TEST(PostgresUnreadable, OneMessageThatCannotBeSentTakesNothingWithIt) {
    const Windows1252 database;
    const std::unique_ptr<Store> store =
        postgres::open_store(database.url(), {.deploy_schema = true});
    const Outbox outbox(*store);
    outbox.enqueue({.topic = "t", .payload = "a"});
    psql(database.url(),
         "INSERT INTO infra.outbox_live (topic, payload, correlation_id) "
         "VALUES ('t', 'poison', chr(129))");
    outbox.enqueue({.topic = "t", .payload = "b"});

    std::vector<std::string> payloads;
    for (const Message& message : outbox.claim_due(10)) payloads.push_back(message.payload);
    EXPECT_THAT(payloads, ElementsAre("a", "b"));
    const SqlRows dead =
        psql(database.url(),
             "SELECT convert_from(payload, 'UTF8'), state, dead_reason, lost_count, last_error "
             "FROM infra.outbox_waiting");
    ASSERT_THAT(dead, SizeIs(1));
    EXPECT_EQ(dead[0][0], "poison");
    EXPECT_EQ(dead[0][1], "3");
    EXPECT_EQ(dead[0][2], "unreadable");
    EXPECT_EQ(dead[0][3], "0");
    EXPECT_THAT(dead[0][4].value(), HasSubstr("no equivalent"));
    EXPECT_EQ(psql(database.url(), "SELECT count(*) FROM infra.outbox_lease"), (SqlRows{{"2"}}));
}

TEST(PostgresUnreadable, S001_16_2_HeadersThatOnlyJsonTakesAreDeadForTheFunctions) {
    const PostgresDatabase database;
    postgres::open_schema(database.url())->deploy();
    database.psql(
        R"(INSERT INTO infra.outbox_live (topic, payload, headers)
           VALUES ('t', 'a', '{"a":"1"}'), ('t', 'b', '{"a":"\u0000"}'), ('t', 'c', NULL))");
    Session worker(database.url());
    const std::string lease = worker.value(
        "SELECT min(lease_id) FROM infra.outbox_claim('00000000-0000-4000-8000-00000000000a', 30, "
        "10)");
    EXPECT_EQ(worker.run("SELECT convert_from(payload, 'UTF8'), headers FROM infra.outbox_read(" +
                         lease + ") ORDER BY 1"),
              (SqlRows{{"a", R"({"a": "1"})"}, {"c", std::nullopt}}));
    EXPECT_EQ(database.psql("SELECT convert_from(payload, 'UTF8'), dead_reason, last_error, "
                            "lost_count FROM infra.outbox_waiting WHERE state = 3"),
              (SqlRows{{"b", "unreadable", "headers: cannot be read as jsonb", "0"}}));
}

TEST(PostgresUnreadable, OBX_096_TheFunctionReadLeavesWhatGoesBeyondForTheNextClaim) {
    OpenOptions options;
    options.limits.max_payload_bytes = std::size_t{64} * 1024 * 1024;
    const PostgresDatabase database;
    postgres::open_schema(database.url(), options)->deploy();
    database.psql(
        "INSERT INTO infra.outbox_live (topic, payload) "
        "SELECT 't', convert_to(repeat('x', size), 'UTF8') "
        "FROM unnest(ARRAY[20000000, 20000000, 40000000, 50000000, 10]) size");
    // Whoever deployed last sets the limits: 47 MiB, and half a MiB of headers.
    options.limits.max_payload_bytes = std::size_t{47} * 1024 * 1024;
    postgres::open_schema(database.url(), options)->deploy();

    Session worker(database.url());
    const auto read = [&] {
        const std::string lease = worker.value(
            "SELECT min(lease_id) FROM "
            "infra.outbox_claim('00000000-0000-4000-8000-00000000000a', 30, 10)");
        if (lease == "NULL") return std::string("-");
        return worker.value(
            "SELECT string_agg(octet_length(payload)::text, ' ' ORDER BY octet_length(payload)) "
            "FROM infra.outbox_read(" +
            lease + ")");
    };
    EXPECT_EQ(read(), "20000000");
    EXPECT_EQ(read(), "20000000");
    EXPECT_EQ(read(), "40000000");
    EXPECT_EQ(read(), "10");
    EXPECT_EQ(read(), "-");
    EXPECT_EQ(worker.run("SELECT dead_reason, last_error, lost_count FROM infra.outbox_waiting "
                         "WHERE state = 3"),
              (SqlRows{{"unreadable",
                        "payload and headers: 50000000 bytes, at most 49807360 allowed", "0"}}));
}

}  // namespace
}  // namespace postroom::test
