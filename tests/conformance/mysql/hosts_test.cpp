// Several hosts in one URL: the first that is there and takes writes is used, and when it is lost
// the next one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mysql.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include <atomic>
#include <chrono>

#include "postroom/backend/mysql.hpp"
#include "postroom/dispatcher.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/private_mariadb.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto next_host_within = 15s;

// host:port of mysql://account@host:port/database
std::string place_of(const std::string& url) {
    const std::size_t at = url.rfind('@') + 1;
    return url.substr(at, url.find('/', at) - at);
}

// Two servers that know nothing of each other, with a database of the same name.
class MariadbHosts : public testing::Test {
protected:
    MariadbHosts() {
        mariadb_sql(second.server().root_url(), "CREATE DATABASE " + database);
        for (const std::string& one : {first_url, second_url}) mysql::open_schema(one)->deploy();
    }

    static void set_read_only(const PrivateMariadb& server, bool on) {
        mariadb_sql(server.server().root_url(), fmt::format("SET GLOBAL read_only = {}", on));
    }

    static std::string rows_at(const std::string& url) {
        return mariadb_sql(url, "SELECT count(*) FROM outbox_live").at(0).at(0).value();
    }

    // Whether a message can be stored in time, whatever fails meanwhile.
    static bool goes_on(const Outbox& outbox, std::chrono::seconds within = next_host_within) {
        return wait_until(
            [&] {
                try {
                    outbox.enqueue({.topic = "t", .payload = "p"});
                    return true;
                } catch (const Error&) {
                    return false;
                }
            },
            within, 50ms);
    }

    PrivateMariadb first;
    PrivateMariadb second;
    const std::string database = first.server().create_database();
    const std::string first_url = first.server().url(database);
    const std::string second_url = second.server().url(database);
    const std::string place = place_of(first_url);
    const std::string second_place = place_of(second_url);
    const std::string url = std::string(first_url).replace(first_url.find(place), place.size(),
                                                           place + "," + second_place);
};

TEST_F(MariadbHosts, AStoreGoesOnWithTheNextHostWhenItsOwnIsKilled) {
    const auto store = mysql::open_store(url);
    const Outbox outbox(*store);
    outbox.enqueue({.topic = "t", .payload = "p"});
    EXPECT_EQ(rows_at(first_url), "1");
    first.crash();
    EXPECT_TRUE(goes_on(outbox));
    EXPECT_EQ(rows_at(second_url), "1");
}

TEST_F(MariadbHosts, ADispatcherGoesOnWithTheNextHostByItself) {
    const auto store = mysql::open_store(url);
    std::atomic<int> handled{0};
    Dispatcher dispatcher(*store);
    dispatcher.on("t", [&](const Message&) { ++handled; });
    dispatcher.start();
    Outbox(*mysql::open_store(first_url)).enqueue({.topic = "t", .payload = "p"});
    ASSERT_TRUE(wait_until([&] { return handled == 1; }, 15s));
    Outbox(*mysql::open_store(second_url)).enqueue({.topic = "t", .payload = "p"});
    first.crash();
    EXPECT_TRUE(wait_until([&] { return handled == 2; }, next_host_within));
    dispatcher.close();
}

TEST_F(MariadbHosts, AReadOnlyHostIsPassedBy) {
    set_read_only(first, true);
    const auto store = mysql::open_store(url);
    Outbox(*store).enqueue({.topic = "t", .payload = "p"});
    EXPECT_EQ(rows_at(first_url), "0");
    EXPECT_EQ(rows_at(second_url), "1");
}

// Goal: after a switch in good order nobody stays with the server that was the primary.
TEST_F(MariadbHosts, AHostThatBecomesReadOnlyIsLeft) {
    set_read_only(second, true);
    const auto store = mysql::open_store(url);
    const Outbox outbox(*store);
    outbox.enqueue({.topic = "t", .payload = "p"});
    set_read_only(first, true);
    set_read_only(second, false);
    EXPECT_TRUE(goes_on(outbox));
    EXPECT_EQ(rows_at(first_url), "1");
    EXPECT_EQ(rows_at(second_url), "1");
}

TEST_F(MariadbHosts, WhenNoneIsLeftTheErrorTellsWhyForEach) {
    first.crash();
    set_read_only(second, true);
    try {
        mysql::open_store(url);
        ADD_FAILURE() << "a store was opened";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unavailable);
        EXPECT_THAT(error.what(), AllOf(HasSubstr(place + ": "),
                                        HasSubstr(second_place + ": the server is read-only")));
    }
}

// Goal: a wrong password is told at once, and not taken for a server that is down.
TEST_F(MariadbHosts, AHostThatRefusesTheAccountEndsTheSearch) {
    const std::string nobody =
        fmt::format("mysql://nobody_here:canary-8127@{},{}/{}", place, second_place, database);
    try {
        mysql::open_store(nobody);
        ADD_FAILURE() << "a store was opened";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::rejected);
        EXPECT_THAT(error.what(),
                    AllOf(HasSubstr(place + ": "), testing::Not(HasSubstr("canary-8127"))));
    }
}

TEST_F(MariadbHosts, AFrozenHostIsPassedByInItsShareOfTheTimeToConnect) {
    first.freeze();
    const auto begun = std::chrono::steady_clock::now();
    const auto store = mysql::open_store(url);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 9s);
    Outbox(*store).enqueue({.topic = "t", .payload = "p"});
    first.thaw();
    EXPECT_EQ(rows_at(second_url), "1");
}

// Goal: a server that freezes under a store at work, and still acknowledges every packet, is given
// up 10 s after the time limit of its statement, and the next host is used.
TEST_F(MariadbHosts, AStoreGoesOnWithTheNextHostWhenItsOwnFreezes) {
    constexpr auto statement_timeout = 4s;
    constexpr auto slack = 10s;
    constexpr auto patience = 45s;  // to connect, and for a machine that is busy
    const auto store =
        mysql::open_store(url, {.connect_timeout = 5s, .statement_timeout = statement_timeout});
    const Outbox outbox(*store);
    outbox.enqueue({.topic = "t", .payload = "p"});
    EXPECT_EQ(rows_at(first_url), "1");
    first.freeze();
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(goes_on(outbox, statement_timeout + slack + patience));
    const auto took = std::chrono::steady_clock::now() - begun;
    EXPECT_EQ(rows_at(second_url), "1");
    EXPECT_EQ(outbox.claim_due(1).size(), 1U);
    first.thaw();
    EXPECT_LT(took, statement_timeout + slack + patience);
}

// Goal: a machine whose power is cut, and which closes no connection, is given up in time too.
TEST_F(MariadbHosts, AMachineThatSaysNothingAnyMoreIsGivenUpInTime) {
    const auto store = mysql::open_store(url);
    const auto tx = store->begin();
    const auto socket = static_cast<int>(mysql_get_socket(mysql::handle(*tx)));
    const auto option = [&](int level, int name) {
        int value = 0;
        socklen_t size = sizeof value;
        EXPECT_EQ(::getsockopt(socket, level, name, &value, &size), 0);
        return value;
    };
    // For what was sent, and for an answer that is waited for.
    EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 10'000);
    EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_LE(option(IPPROTO_TCP, TCP_KEEPIDLE) +
                  option(IPPROTO_TCP, TCP_KEEPINTVL) * option(IPPROTO_TCP, TCP_KEEPCNT),
              10);
    tx->rollback();
}

}  // namespace
}  // namespace postroom::test
