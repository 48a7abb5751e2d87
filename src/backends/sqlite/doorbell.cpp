#include "backends/sqlite/doorbell.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <new>

#include "backends/sqlite/errors.hpp"
#include "base/sleep.hpp"
#include "postroom/error.hpp"
#include "sql/connection.hpp"

namespace postroom::sqlite {

namespace {

// A look costs about 70 us, so an idle bell takes less than a hundredth of a core.
constexpr Duration look_interval = std::chrono::milliseconds{10};

}  // namespace

bool FileDoorbell::wait(Duration timeout, std::stop_token stop) {
    if (changed()) return true;
    // A database without a file is nobody else's to change.
    const Duration interval = version_query_ ? look_interval : timeout;
    return base::look_until([this] { return changed(); }, interval, timeout, stop);
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

}  // namespace postroom::sqlite
