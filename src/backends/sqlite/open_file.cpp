#include "backends/sqlite/open_file.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/sqlite/errors.hpp"
#include "backends/sqlite/prepared.hpp"

namespace postroom::sqlite {

namespace {

using namespace std::chrono_literals;

void require_file_name(const std::string& path) {
    if (path.empty()) throw std::invalid_argument("path: empty, the name of a file is needed");
    if (path.find('\0') != std::string::npos)
        throw std::invalid_argument("path: contains a NUL byte");
    if (path == ":memory:") {
        throw std::invalid_argument(
            "path: \":memory:\" is a database of one connection, and a store uses several; give a "
            "file, or use "
            "MemoryStore in tests");
    }
}

// Messages are nobody else's business: a new file is for its owner alone, and SQLite gives the
// files beside it the same rights. Whoever shares it changes them, or makes the file beforehand.
// What goes wrong here SQLite finds again.
void create_for_owner(const std::string& path) {
    constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    const int descriptor = ::open(path.c_str(), flags, S_IRUSR | S_IWUSR);
    if (descriptor >= 0) ::close(descriptor);
}

[[noreturn]] void throw_cannot_open(const std::string& path, sqlite3* connection) {
    const Error error = error_of(connection, "open");
    const int system_error = sqlite3_system_errno(connection);
    const std::string reason =
        system_error == 0 ? std::string{} : ": " + std::system_category().message(system_error);
    throw Error(error.kind(),
                fmt::format("cannot use the file '{}': {}{}", path, error.what(), reason));
}

std::string journal_mode_after_asking_for_wal(sqlite3* connection) {
    std::string mode;
    Prepared(connection, "PRAGMA journal_mode = WAL", false).run({}, [&](const sql::Row& row) {
        mode = row.text(0);
    });
    return mode;
}

// While several processes open a new file, one of them turns it into WAL; the busy handler is not
// asked then.
void use_wal(const std::string& path, sqlite3* connection, BusyWait& busy) {
    for (int attempts = 0;; ++attempts) {
        try {
            const std::string mode = journal_mode_after_asking_for_wal(connection);
            if (mode == "wal") return;
            throw Error(
                ErrorKind::rejected,
                fmt::format("cannot use the file '{}': its journal mode stays '{}', WAL is needed",
                            path, mode));
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::conflict && busy.sleep(attempts)) continue;
            if (error.kind() == ErrorKind::rejected && sqlite3_errcode(connection) == SQLITE_OK)
                throw;
            throw_cannot_open(path, connection);
        }
    }
}

int on_busy(void* wait, int attempts) {
    return static_cast<BusyWait*>(wait)->sleep(attempts) ? 1 : 0;
}

}  // namespace

void CloseFile::operator()(sqlite3* connection) const {
    // Statements that a user left open on the handle keep it alive until they are finalized, and
    // whoever is to hear of that may be gone by then.
    sqlite3_commit_hook(connection, nullptr, nullptr);
    sqlite3_rollback_hook(connection, nullptr, nullptr);
    sqlite3_busy_handler(connection, nullptr, nullptr);
    sqlite3_close_v2(connection);
}

void BusyWait::install(sqlite3* connection) { sqlite3_busy_handler(connection, &on_busy, this); }

bool BusyWait::sleep(int attempts) {
    constexpr std::array<Duration, 8> pauses{50us, 100us, 200us, 500us, 1ms, 2ms, 3ms, 5ms};
    const auto now = std::chrono::steady_clock::now();
    if (attempts == 0) started_ = now;
    const auto left = std::chrono::duration_cast<Duration>(started_ + limit_ - now);
    if (left <= Duration::zero()) return false;
    const auto step = std::min(static_cast<std::size_t>(attempts), pauses.size() - 1);
    std::this_thread::sleep_for(std::min(pauses.at(step), left));
    return true;
}

OpenFile open_file(const std::string& path, BusyWait& busy) {
    require_file_name(path);
    create_for_owner(path);
    constexpr int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
    OpenFile connection(opened);
    if (opened == nullptr) throw std::bad_alloc();
    if (code != SQLITE_OK) throw_cannot_open(path, opened);
    if (sqlite3_db_readonly(opened, "main") != 0) {
        throw Error(ErrorKind::rejected,
                    fmt::format("cannot use the file '{}': it is read-only", path));
    }
    busy.install(opened);
    use_wal(path, opened, busy);
    Prepared(opened, "PRAGMA synchronous = FULL", false).run();
    return connection;
}

}  // namespace postroom::sqlite
