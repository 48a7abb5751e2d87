#include "backends/postgres/patience.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>

namespace postroom::postgres {

namespace {

using SteadyClock = std::chrono::steady_clock;
using Time = SteadyClock::time_point;

// Together they let a client with several hosts reach the next one within 15 s.
constexpr std::chrono::seconds silence_max{4};
constexpr std::chrono::seconds greeting_max{5};

// Whether the server of `connection` still greets whoever connects. A refusal is a greeting too.
bool greets(const PGconn& connection, const Conninfo& conninfo) {
    const Conninfo same_host = conninfo.for_host({.host = PQhost(&connection),
                                                  .address = PQhostaddr(&connection),
                                                  .port = PQport(&connection)},
                                                 greeting_max);
    const Conninfo::Arrays settings = same_host.arrays();
    return PQpingParams(settings.keywords.data(), settings.values.data(), 0) != PQPING_NO_RESPONSE;
}

// One wait for the server.
class Wait {
public:
    Wait(PGconn& connection, const Conninfo& conninfo, Duration patience)
        : connection_(connection),
          conninfo_(conninfo),
          end_(patience == without_end ? Time::max() : begun_ + patience) {}

    // One round, whose end is for the caller to notice. False: there is nothing to wait for.
    bool goes_on(bool writes) {
        const Time now = SteadyClock::now();
        if (now >= end_) return false;
        if (now >= ask_at_) {
            if (!greets(connection_, conninfo_)) return false;
            ask_at_ = SteadyClock::now() + silence_max;
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::min(end_, ask_at_) -
                                                                       SteadyClock::now());
        const int events = POLLIN | (writes ? POLLOUT : 0);
        pollfd socket{
            .fd = PQsocket(&connection_), .events = static_cast<short>(events), .revents = 0};
        ::poll(&socket, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
        if ((socket.revents & (POLLIN | POLLERR | POLLHUP)) != 0) {
            PQconsumeInput(&connection_);
            ask_at_ = SteadyClock::now() + silence_max;
        }
        return true;
    }

    Duration lasted() const {
        return std::chrono::duration_cast<Duration>(SteadyClock::now() - begun_);
    }

private:
    PGconn& connection_;
    const Conninfo& conninfo_;
    const Time begun_ = SteadyClock::now();
    const Time end_;
    Time ask_at_ = begun_ + silence_max;
};

}  // namespace

std::optional<Duration> await_answer(PGconn& connection, const Conninfo& conninfo,
                                     Duration patience) {
    Wait wait(connection, conninfo, patience);
    for (;;) {
        const int unsent = PQflush(&connection);
        if (unsent < 0 || PQstatus(&connection) != CONNECTION_OK || PQisBusy(&connection) == 0)
            return std::nullopt;
        if (!wait.goes_on(unsent > 0)) return wait.lasted();
    }
}

std::optional<Duration> await_sent(PGconn& connection, const Conninfo& conninfo,
                                   Duration patience) {
    Wait wait(connection, conninfo, patience);
    for (;;) {
        if (PQflush(&connection) <= 0) return std::nullopt;
        if (PQstatus(&connection) != CONNECTION_OK) return std::nullopt;
        if (!wait.goes_on(true)) return wait.lasted();
    }
}

Error no_answer(ErrorKind kind, Duration waited) {
    return {kind, fmt::format("the server has not answered for {} s",
                              std::chrono::duration_cast<std::chrono::seconds>(waited).count())};
}

}  // namespace postroom::postgres
