// The doorbell of PostgreSQL where connections break, servers are silent and poolers stand between.
#include "backends/postgres/doorbell.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

#include "conformance/law.hpp"
#include "conformance/postgres/session.hpp"
#include "postroom/backend/postgres.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr Duration patience = 20s;
// For what is nearly instant, on a machine that has other things to do.
constexpr Duration at_once = 30s;

Duration since(steady_clock::time_point start) {
    return std::chrono::duration_cast<Duration>(steady_clock::now() - start);
}

void expect_stop_ends_wait(Doorbell& bell) {
    std::jthread waiter([&](const std::stop_token& stop) { EXPECT_FALSE(bell.wait(1h, stop)); });
    std::this_thread::sleep_for(50ms);
    const auto start = steady_clock::now();
    waiter.request_stop();
    waiter.join();
    EXPECT_LT(since(start), at_once);
}

// A port on which connections are taken and nothing is ever said, or none is taken at all.
class SilentServer {
public:
    explicit SilentServer(bool listens) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(socket_, generic, size) != 0 || (listens && ::listen(socket_, 16) != 0) ||
            ::getsockname(socket_, generic, &size) != 0) {
            throw std::runtime_error("no port for the silent server");
        }
        port_ = ntohs(address.sin_port);
    }
    ~SilentServer() { ::close(socket_); }
    SilentServer(const SilentServer&) = delete;
    SilentServer& operator=(const SilentServer&) = delete;

    std::string url() const { return "postgresql://x@127.0.0.1:" + std::to_string(port_) + "/x"; }

private:
    int socket_;
    int port_ = 0;
};

class PostgresDoorbell : public testing::Test {
protected:
    std::unique_ptr<Store> open() { return postgres::open_store(database.url(), {}); }

    // A ring that meets a busy server may be lost: it is repeated until it is heard.
    static bool heard_after_rings(Doorbell& ours, Doorbell& theirs) {
        for (int tries = 0; tries < 10; ++tries) {
            ours.ring();
            if (theirs.wait(2s, {})) return true;
        }
        return false;
    }

    static void hear_all(Doorbell& bell) {
        while (bell.wait(300ms, {})) {
        }
    }

    // Ends the connection whose last statement is like `statement`, and sees it gone.
    void end_connection(const std::string& statement) {
        const std::string of_it =
            " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND query LIKE '" +
            statement + "'";
        ASSERT_EQ(database.psql("SELECT pg_terminate_backend(pid)" + of_it).size(), 1U);
        ASSERT_TRUE(wait_until(
            [&] { return database.psql("SELECT count(*)" + of_it).at(0).at(0) == "0"; }, 30s));
    }

    PostgresDatabase database;
};

TEST_F(PostgresDoorbell, ALostListenerSaysSoOnceAndThenHearsAgain) {
    const auto store = open();
    const auto bell = store->doorbell(Queue::outbox);
    ASSERT_TRUE(bell->wait(patience, {}));
    hear_all(*bell);
    end_connection("%LISTEN%");
    EXPECT_EQ(kind_thrown([&] { bell->wait(patience, {}); }), ErrorKind::unavailable);
    EXPECT_TRUE(bell->wait(patience, {})) << "what was missed is not known";
    EXPECT_FALSE(bell->wait(300ms, {}));
    const auto ours = open();
    EXPECT_TRUE(heard_after_rings(*ours->doorbell(Queue::outbox), *bell));
}

TEST_F(PostgresDoorbell, AListenerThatIsLostWhileAThreadWaitsWakesIt) {
    const auto store = open();
    const auto bell = store->doorbell(Queue::outbox);
    ASSERT_TRUE(bell->wait(patience, {}));
    hear_all(*bell);
    const auto start = steady_clock::now();
    std::jthread waiter(
        [&] { EXPECT_EQ(kind_thrown([&] { bell->wait(2min, {}); }), ErrorKind::unavailable); });
    end_connection("%LISTEN%");
    waiter.join();
    EXPECT_LT(since(start), 1min);
}

TEST_F(PostgresDoorbell, ARingerThatWasCutOffRingsAgain) {
    const auto store = open();
    const auto theirs = store->doorbell(Queue::outbox);
    ASSERT_TRUE(theirs->wait(patience, {}));
    const auto ours = store->doorbell(Queue::outbox);
    EXPECT_TRUE(heard_after_rings(*ours, *theirs));
    hear_all(*theirs);
    end_connection("%NOTIFY postroom%");
    std::this_thread::sleep_for(postgres::DoorbellLimits{}.connect_interval);
    EXPECT_TRUE(heard_after_rings(*ours, *theirs));
}

TEST_F(PostgresDoorbell, NotificationsAreNoMoreThanTheIntervalAllows) {
    Session session(database.url());
    session.run("LISTEN " + postgres::channel_of("infra.outbox"));
    const auto store = open();
    const auto bell = store->doorbell(Queue::outbox);
    const auto start = steady_clock::now();
    int heard = 0;
    const auto hear = [&] {
        session.run("SELECT 1");
        while (PGnotify* const notification = PQnotifies(session.native())) {
            PQfreemem(notification);
            ++heard;
        }
    };
    // Longer only where the server takes its time to let the bell in.
    do {
        const auto part = steady_clock::now();
        while (since(part) < 200ms) bell->ring();
        hear();
    } while (heard < 2 && since(start) < patience);
    const auto allowed = 1 + since(start) / postgres::DoorbellLimits{}.ring_interval;
    std::this_thread::sleep_for(300ms);
    hear();
    EXPECT_GE(heard, 2);
    EXPECT_LE(heard, allowed);
}

TEST_F(PostgresDoorbell, AForeignNotificationOnTheChannelIsARing) {
    const auto store = open();
    const auto bell = store->doorbell(Queue::inbox);
    ASSERT_TRUE(bell->wait(patience, {}));
    hear_all(*bell);
    database.psql("NOTIFY " + postgres::channel_of("infra.inbox"));
    EXPECT_TRUE(bell->wait(patience, {}));
}

TEST_F(PostgresDoorbell, AnIdleSessionIsNotEndedByTheServer) {
    database.psql("ALTER DATABASE \"" + database.name() + "\" SET idle_session_timeout = 200");
    const auto store = open();
    const auto bell = store->doorbell(Queue::outbox);
    ASSERT_TRUE(bell->wait(patience, {}));
    EXPECT_FALSE(bell->wait(600ms, {}));
}

TEST_F(PostgresDoorbell, ThroughAPoolerOneRingsButDoesNotListen) {
    const auto direct = open();
    const auto listener = direct->doorbell(Queue::outbox);
    ASSERT_TRUE(listener->wait(patience, {}));
    hear_all(*listener);
    const auto pooled = postgres::open_store(database.via_pgbouncer_url(), {.pooled = true});
    const auto bell = pooled->doorbell(Queue::outbox);
    EXPECT_TRUE(heard_after_rings(*bell, *listener));
    const auto start = steady_clock::now();
    EXPECT_FALSE(bell->wait(200ms, {}));
    EXPECT_GE(since(start), 200ms);
    EXPECT_EQ(database.psql("SELECT count(*) FROM pg_stat_activity WHERE datname = "
                            "current_database() AND query LIKE '%LISTEN postroom%' "
                            "AND pid <> pg_backend_pid()"),
              (SqlRows{{"1"}}));
}

TEST_F(PostgresDoorbell, AStopEndsTheWaitThroughAPooler) {
    const auto pooled = postgres::open_store(database.via_pgbouncer_url(), {.pooled = true});
    const auto bell = pooled->doorbell(Queue::outbox);
    expect_stop_ends_wait(*bell);
}

TEST(PostgresDoorbellWithoutServer, RingsAreQuickWhereNobodyListensOnThePort) {
    const SilentServer server(false);
    const auto store = postgres::open_store(server.url(), {});
    const auto bell = store->doorbell(Queue::outbox);
    const auto start = steady_clock::now();
    for (int i = 0; i < 10'000; ++i) bell->ring();
    EXPECT_LT(since(start), at_once);
}

TEST(PostgresDoorbellWithoutServer, RingsAreQuickWhereTheServerIsSilent) {
    const SilentServer server(true);
    const auto store = postgres::open_store(server.url(), {});
    const auto bell = store->doorbell(Queue::outbox);
    auto start = steady_clock::now();
    bell->ring();
    EXPECT_LT(since(start), postgres::DoorbellLimits{}.ring_patience + at_once);
    start = steady_clock::now();
    for (int i = 0; i < 10'000; ++i) bell->ring();
    EXPECT_LT(since(start), at_once);
}

TEST(PostgresDoorbellWithoutServer, AWaitSaysThatItCannotHearAndAttemptsAreSpaced) {
    const SilentServer server(false);
    const auto store = postgres::open_store(server.url(), {});
    const auto bell = store->doorbell(Queue::outbox);
    const auto start = steady_clock::now();
    EXPECT_EQ(kind_thrown([&] { bell->wait(patience, {}); }), ErrorKind::unavailable);
    try {
        EXPECT_FALSE(bell->wait(50ms, {}));
        EXPECT_EQ(kind_thrown([&] { bell->wait(patience, {}); }), ErrorKind::unavailable);
    } catch (const Error& early) {
        // The machine stood still until the next attempt was due.
        EXPECT_EQ(early.kind(), ErrorKind::unavailable);
    }
    EXPECT_GE(since(start), postgres::DoorbellLimits{}.connect_interval);
}

TEST(PostgresDoorbellWithoutServer, ASilentServerIsGivenUp) {
    const SilentServer server(true);
    postgres::Listener listener(postgres::Conninfo(server.url(), {}), "postroom_x",
                                {.answer_limit = 2s});
    EXPECT_FALSE(listener.wait(50ms, {}));
    EXPECT_THAT(thrown([&] { listener.wait(patience, {}); }),
                testing::HasSubstr("the server does not answer"));
}

TEST(PostgresDoorbellWithoutServer, AStopEndsTheWaitForASilentServer) {
    const SilentServer server(true);
    const auto store = postgres::open_store(server.url(), {});
    const auto bell = store->doorbell(Queue::outbox);
    expect_stop_ends_wait(*bell);
}

TEST(PostgresDoorbellChannel, IsAnIdentifierAndDiffersByName) {
    const std::string channel = postgres::channel_of(std::string(500, 'x') + ".Outbox \"1\"");
    EXPECT_THAT(channel, testing::MatchesRegex("postroom_[0-9a-f]+"));
    EXPECT_LE(channel.size(), 63U);
    EXPECT_NE(postgres::channel_of("infra.outbox"), postgres::channel_of("infra.inbox"));
    EXPECT_EQ(postgres::channel_of("infra.outbox"), postgres::channel_of("infra.outbox"));
}

}  // namespace
}  // namespace postroom::test
