#include "postroom/backend/sqlite.hpp"

#include <stdexcept>
#include <string_view>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/doorbell.hpp"
#include "backends/sqlite/driver.hpp"
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
            .group_commit = true};
}

// "sqlite:shop.db" and "sqlite:/var/lib/shop.db"; with an authority part, which must be empty,
// "sqlite:///var/lib/shop.db".
std::string path_of(const std::string& url) {
    constexpr std::string_view scheme = "sqlite:";
    std::string_view rest = url;
    if (!rest.starts_with(scheme))
        throw std::invalid_argument("url: does not begin with 'sqlite:'");
    rest.remove_prefix(scheme.size());
    if (rest.starts_with("//")) {
        rest.remove_prefix(2);
        if (!rest.starts_with("/")) {
            throw std::invalid_argument(
                "url: a file has no host; write sqlite:shop.db for a relative path, "
                "sqlite:///var/shop.db for an "
                "absolute one");
        }
    }
    return std::string(rest);
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
    const auto* const driver = dynamic_cast<Driver*>(sql::connection_of(tx));
    if (driver == nullptr)
        throw Error(ErrorKind::misuse, "handle: not a transaction of an SQLite store");
    return driver->handle();
}

std::unique_ptr<TxContext> borrow(sqlite3* connection) {
    if (connection == nullptr) throw std::invalid_argument("connection: null");
    return sql::make_borrowed(std::make_unique<Driver>(connection));
}

}  // namespace postroom::sqlite
