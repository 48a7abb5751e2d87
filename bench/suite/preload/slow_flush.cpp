// A library to be preloaded: every flush to the disk takes POSTROOM_BENCH_FLUSH_US microseconds
// longer, as on the volumes of a cloud.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace {

void delay() {
    static const long micros = [] {
        const char* const given = std::getenv("POSTROOM_BENCH_FLUSH_US");
        return given == nullptr ? 0 : std::atol(given);
    }();
    if (micros > 0) ::usleep(static_cast<useconds_t>(micros));
}

using Flush = int (*)(int);
Flush original(const char* name) { return reinterpret_cast<Flush>(::dlsym(RTLD_NEXT, name)); }

}  // namespace

extern "C" {

int fsync(int file) {
    static const Flush next = original("fsync");
    delay();
    return next(file);
}

int fdatasync(int file) {
    static const Flush next = original("fdatasync");
    delay();
    return next(file);
}

}  // extern "C"
