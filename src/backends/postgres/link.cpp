#include "backends/postgres/link.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <system_error>

#include "backends/postgres/errors.hpp"
#include "backends/postgres/result.hpp"
#include "postroom/error.hpp"

namespace postroom::postgres {

namespace {

struct FreeNotification {
    void operator()(PGnotify* notification) const { PQfreemem(notification); }
};

void ignore_notice(void*, const PGresult*) {}

PGconn* start(const Conninfo& conninfo) {
    const Conninfo::Arrays settings = conninfo.arrays();
    return PQconnectStartParams(settings.keywords.data(), settings.values.data(), 0);
}

// Rounded up, so that nobody wakes before the deadline and asks again in a tight loop.
int milliseconds_until(Link::Time deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    constexpr std::chrono::milliseconds poll_max = std::chrono::hours{1};
    return static_cast<int>(std::clamp(left, std::chrono::milliseconds{0}, poll_max).count());
}

// One round of poll(); an interruption or the end of a long round is for the caller to notice.
void poll_once(std::array<pollfd, 2>& waiting, Link::Time deadline) {
    if (::poll(waiting.data(), waiting.size(), milliseconds_until(deadline)) < 0 &&
        errno != EINTR) {
        throw Error(ErrorKind::unavailable,
                    "doorbell: poll: " + std::system_category().message(errno));
    }
}

constexpr int no_descriptor = -1;  // which poll() passes over

}  // namespace

Link::Link(const Conninfo& conninfo) : connection_(start(conninfo)) {
    if (connection_ == nullptr) throw std::bad_alloc();
    if (PQstatus(connection_.get()) == CONNECTION_BAD) throw_lost();
    PQsetNoticeReceiver(connection_.get(), ignore_notice, nullptr);
}

bool Link::connected() {
    if (handshake_ == PGRES_POLLING_OK) return true;
    // A step may only be taken when the socket is ready for it.
    pollfd ready{.fd = PQsocket(connection_.get()),
                 .events = handshake_ == PGRES_POLLING_READING ? short{POLLIN} : short{POLLOUT},
                 .revents = 0};
    if (::poll(&ready, 1, 0) <= 0) return false;
    handshake_ = PQconnectPoll(connection_.get());
    if (handshake_ == PGRES_POLLING_FAILED) throw_lost();
    if (handshake_ != PGRES_POLLING_OK) return false;
    if (PQsetnonblocking(connection_.get(), 1) != 0) throw_lost();
    return true;
}

void Link::ask(const std::string& sql) {
    if (PQsendQuery(connection_.get(), sql.c_str()) != 1) throw_lost();
    outstanding_ = true;
    flushing_ = true;
    take_in();
}

bool Link::answered() {
    take_in();
    while (outstanding_ && PQisBusy(connection_.get()) == 0) {
        const Result result(PQgetResult(connection_.get()));
        if (result == nullptr) {
            outstanding_ = false;
        } else if (!sqlstate_of(result.get()).empty()) {
            throw Error(ErrorKind::unavailable, "doorbell: " + describe(*result));
        } else if (PQresultStatus(result.get()) == PGRES_FATAL_ERROR) {
            throw_lost();
        }
    }
    return !outstanding_;
}

bool Link::notified() {
    take_in();
    bool any = false;
    while (const std::unique_ptr<PGnotify, FreeNotification> notification{
        PQnotifies(connection_.get())}) {
        any = true;
    }
    return any;
}

void Link::wait(Time deadline, const StopSignal* stop) {
    const bool connecting = handshake_ != PGRES_POLLING_OK;
    const bool writes = connecting ? handshake_ == PGRES_POLLING_WRITING : flushing_;
    const bool reads = connecting ? handshake_ == PGRES_POLLING_READING : true;
    const int events = (writes ? POLLOUT : 0) | (reads ? POLLIN : 0);
    std::array<pollfd, 2> waiting{
        pollfd{
            .fd = PQsocket(connection_.get()), .events = static_cast<short>(events), .revents = 0},
        pollfd{.fd = stop != nullptr ? stop->descriptor() : no_descriptor,
               .events = POLLIN,
               .revents = 0}};
    poll_once(waiting, deadline);
}

// Until nothing is left to read: the end of the stream comes after the server's last words.
void Link::take_in() {
    if (flushing_) {
        const int left = PQflush(connection_.get());
        if (left < 0) throw_lost();
        flushing_ = left > 0;
    }
    while (readable()) {
        if (PQconsumeInput(connection_.get()) != 1) throw_lost();
        // Lets libpq make room for more.
        static_cast<void>(PQisBusy(connection_.get()));
    }
    if (PQstatus(connection_.get()) != CONNECTION_OK) throw_lost();
}

bool Link::readable() const {
    pollfd input{.fd = PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
    return ::poll(&input, 1, 0) > 0;
}

void Link::throw_lost() const {
    throw Error(
        ErrorKind::unavailable,
        std::string("doorbell: ") + broken_connection(*connection_, ErrorKind::unavailable).what());
}

void sleep_until(Link::Time deadline, const StopSignal& stop) {
    while (!stop.requested() && std::chrono::steady_clock::now() < deadline) {
        std::array<pollfd, 2> waiting{
            pollfd{.fd = stop.descriptor(), .events = POLLIN, .revents = 0},
            pollfd{.fd = no_descriptor, .events = 0, .revents = 0}};
        poll_once(waiting, deadline);
    }
}

}  // namespace postroom::postgres
