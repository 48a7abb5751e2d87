#include "backends/sqlite/doorbell.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "backends/sqlite/errors.hpp"
#include "postroom/error.hpp"
#include "sql/connection.hpp"

namespace postroom::sqlite {

namespace {

using std::chrono::steady_clock;

// A look costs about 70 us, so an idle bell takes less than a hundredth of a core.
constexpr Duration look_interval = std::chrono::milliseconds{10};
// Longer waits would leave the range of the clock, and nobody minds a false after a day.
constexpr Duration wait_max = std::chrono::hours{24};

}  // namespace

bool FileDoorbell::wait(Duration timeout, std::stop_token stop) {
    const auto deadline = steady_clock::now() + std::clamp(timeout, Duration::zero(), wait_max);
    while (!changed()) {
        const auto left = std::chrono::ceil<Duration>(deadline - steady_clock::now());
        if (left <= Duration::zero()) return false;
        const Duration pause = version_query_ ? std::min(look_interval, left) : left;
        if (!sleep(pause, stop)) return false;
    }
    return true;
}

bool FileDoorbell::changed() {
    try {
        if (!file_) open();
        if (!version_query_) return false;
        std::int64_t now = 0;
        version_query_->run({}, [&](const sql::Row& row) { now = row.integer(0); });
        return std::exchange(version_, now) != now;
    } catch (const Error& error) {
        // Somebody is just recovering or converting the file: looked at again later.
        if (error.kind() == ErrorKind::conflict) return false;
        version_query_.reset();
        version_.reset();
        file_.reset();
        throw Error(ErrorKind::unavailable,
                    fmt::format("doorbell: cannot watch the file '{}': {}", path_, error.what()));
    }
}

void FileDoorbell::open() {
    constexpr int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(path_.c_str(), &opened, flags, nullptr);
    OpenFile file(opened);
    if (opened == nullptr) throw std::bad_alloc();
    if (code != SQLITE_OK) throw error_of(opened, "open");
    const char* const name = sqlite3_db_filename(opened, "main");
    if (name != nullptr && *name != '\0')
        version_query_ = std::make_unique<Prepared>(opened, "PRAGMA data_version", true);
    file_ = std::move(file);
}

bool FileDoorbell::sleep(Duration duration, const std::stop_token& stop) {
    base::MutexLock lock(mutex_);
    never_.wait_for(lock, stop, duration, [] { return false; });
    return !stop.stop_requested();
}

}  // namespace postroom::sqlite
