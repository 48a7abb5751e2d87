#include "postroom/backend/sqlite.hpp"

#include <stdexcept>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/doorbell.hpp"
#include "backends/sqlite/driver.hpp"
#include "backends/sqlite/file_place.hpp"
#include "backends/sqlite/file_url.hpp"
#include "postroom/error.hpp"
#include "sql/backend.hpp"

namespace postroom::sqlite {

namespace {

sql::Backend make_backend(const std::string& path, const OpenOptions& options) {
    return {.dialect = make_dialect(),
            .connect = [path,
                        timeout = options.statement_timeout]() -> std::unique_ptr<sql::Connection> {
                return std::make_unique<Driver>(path, timeout);
            },
            .peer = "sqlite:" + path,
            .doorbell = [path](const std::string&,
                               Doorbell::Forecast forecast) -> std::unique_ptr<Doorbell> {
                return std::make_unique<FileDoorbell>(path, std::move(forecast));
            },
            .place = [path] { return place_of(path); },
            .group_commit = true};
}

}  // namespace

std::unique_ptr<Store> open_store(const std::string& path, const OpenOptions& options) {
    sql::Backend backend = make_backend(path, options);
    // A file that cannot be used is noticed here and not at the first message.
    backend.connect();
    return sql::make_store(std::move(backend), options);
}

std::unique_ptr<Schema> open_schema(const std::string& path, const OpenOptions& options) {
    return sql::make_schema(make_backend(path, options), options);
}

std::unique_ptr<Store> open_url(const std::string& url, const OpenOptions& options) {
    return sqlite::open_store(path_of(url), options);
}

std::unique_ptr<Schema> open_schema_url(const std::string& url, const OpenOptions& options) {
    return sqlite::open_schema(path_of(url), options);
}

sqlite3* handle(Transaction& tx) {
    auto* const driver = dynamic_cast<Driver*>(sql::connection_of(tx));
    if (driver == nullptr)
        throw Error(ErrorKind::misuse, "handle: not a transaction of an SQLite store");
    driver->watch_transaction();
    return driver->native();
}

std::unique_ptr<TxContext> borrow(sqlite3* connection, BorrowOptions options) {
    if (connection == nullptr) throw std::invalid_argument("connection: null");
    return sql::make_borrowed(std::make_unique<Driver>(connection, options));
}

}  // namespace postroom::sqlite
