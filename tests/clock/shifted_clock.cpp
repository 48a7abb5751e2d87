// A library to be preloaded: the calendar of the process is POSTROOM_TEST_CLOCK_SHIFT seconds ahead
// of the machine's. Clocks that only measure intervals go as before.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

time_t shift() {
    static const time_t seconds = [] {
        const char* const given = std::getenv("POSTROOM_TEST_CLOCK_SHIFT");
        return given == nullptr ? time_t{0} : static_cast<time_t>(std::atol(given));
    }();
    return seconds;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const long result = ::syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        time->tv_sec += shift();
    return static_cast<int>(result);
}

int gettimeofday(timeval* __restrict time, void* __restrict /*zone*/) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* out) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != nullptr) *out = now.tv_sec;
    return now.tv_sec;
}

}  // extern "C"
