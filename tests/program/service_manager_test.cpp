// What the relay tells a service manager, heard on a socket of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "program/mute_server.hpp"
#include "program/program.hpp"

namespace postroom::test::service_manager_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::chrono::seconds patience = 90s;

// Two signs of life a second. A socket holds ten messages that nobody has read, and what comes
// then is dropped: a test that stands still for a moment must not miss the news for them.
constexpr const char* watched_usec = "1000000";

// The manager's end of NOTIFY_SOCKET.
class NotifySocket {
public:
    explicit NotifySocket(const std::string& path)
        : descriptor_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::copy(path.begin(), path.end(), address.sun_path);
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address),
                  0);
    }
    ~NotifySocket() { ::close(descriptor_); }
    NotifySocket(const NotifySocket&) = delete;
    NotifySocket& operator=(const NotifySocket&) = delete;

    // The next message; empty when none came in time.
    std::string next() const {
        pollfd readable{.fd = descriptor_, .events = POLLIN, .revents = 0};
        if (::poll(&readable, 1, static_cast<int>(std::chrono::milliseconds(patience).count())) <=
            0)
            return "";
        std::array<char, 1024> bytes{};
        const ssize_t size = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
        return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
    }
    // The next that is not a sign of life.
    std::string next_news() const {
        std::string message = next();
        while (message == "WATCHDOG=1") message = next();
        return message;
    }

private:
    const int descriptor_;
};

TEST(ServiceManager, HearsThatTheRelayIsReadyReloadsAndStops) {
    ProgramFolder folder;
    const NotifySocket manager((folder / "notify").string());
    folder.set("NOTIFY_SOCKET", (folder / "notify").string());
    ChildProcess relay = folder.start({"relay"});
    EXPECT_THAT(manager.next(), StartsWith("READY=1\nSTATUS=Stores open: 1"));
    relay.kill(SIGHUP);
    EXPECT_THAT(manager.next(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
    EXPECT_THAT(manager.next(), StartsWith("READY=1"));
    folder.write("postroom.toml", "nonsense");
    relay.kill(SIGHUP);
    EXPECT_THAT(manager.next(), StartsWith("RELOADING=1"));
    EXPECT_THAT(manager.next(), HasSubstr("refused; the old one is at work"));
    relay.kill(SIGTERM);
    EXPECT_THAT(manager.next(), StartsWith("STOPPING=1"));
    EXPECT_TRUE(relay.wait(patience).value_or(ExitStatus{}).success());
}

TEST(ServiceManager, HearsSignsOfLifeWhileItWatches) {
    ProgramFolder folder;
    const NotifySocket manager((folder / "notify").string());
    folder.set("NOTIFY_SOCKET", (folder / "notify").string());
    folder.set("WATCHDOG_USEC", watched_usec);
    ChildProcess relay = folder.start({"relay"});
    EXPECT_THAT(manager.next_news(), StartsWith("READY=1"));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(manager.next(), "WATCHDOG=1");
    relay.kill(SIGTERM);
    EXPECT_THAT(manager.next_news(), StartsWith("STOPPING=1"));
}

// One that waits for a database is alive, and must not be killed for its patience.
TEST(ServiceManager, HearsSignsOfLifeDuringAReloadToo) {
    ProgramFolder folder;
    const NotifySocket manager((folder / "notify").string());
    folder.set("NOTIFY_SOCKET", (folder / "notify").string());
    folder.set("WATCHDOG_USEC", watched_usec);
    ChildProcess relay = folder.start({"relay"});
    EXPECT_THAT(manager.next_news(), StartsWith("READY=1"));
    const MuteServer database;
    folder.write("postroom.toml", database.config());
    relay.kill(SIGHUP);
    EXPECT_THAT(manager.next_news(), StartsWith("RELOADING=1"));
    ASSERT_TRUE(database.wait_for_caller());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(manager.next(), "WATCHDOG=1");
    relay.kill(SIGTERM);
    EXPECT_THAT(manager.next_news(), StartsWith("STOPPING=1"));
}

TEST(ServiceManager, IsNotToldWhatConcernsAnotherProcess) {
    ProgramFolder folder;
    const NotifySocket manager((folder / "notify").string());
    folder.set("NOTIFY_SOCKET", (folder / "notify").string());
    folder.set("WATCHDOG_USEC", "1000");
    folder.set("WATCHDOG_PID", "1");
    ChildProcess relay = folder.start({"relay"});
    EXPECT_THAT(manager.next(), StartsWith("READY=1"));
    relay.kill(SIGTERM);
    EXPECT_THAT(manager.next(), StartsWith("STOPPING=1"));
}

}  // namespace
}  // namespace postroom::test::service_manager_test
