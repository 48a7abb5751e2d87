#include "postroom/backend/mysql.hpp"

#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "backends/mysql/dialect.hpp"
#include "backends/mysql/driver.hpp"
#include "postroom/error.hpp"
#include "sql/backend.hpp"
#include "sql/looking_doorbell.hpp"

namespace postroom::mysql {

namespace {

// Above what was seen only: at the end of a table lie rows that were deleted and not purged yet.
// `name` is schema.queue.
std::string newest_in(const std::string& name) {
    return fmt::format(
        "SELECT (SELECT seq FROM `{0}_live` WHERE seq > ? ORDER BY seq DESC LIMIT 1), "
        "(SELECT seq FROM `{0}_waiting` WHERE seq > ? ORDER BY seq DESC LIMIT 1), "
        "(SELECT id FROM `{0}_turn` WHERE id > ? ORDER BY id DESC LIMIT 1)",
        name.substr(name.find('.') + 1));
}

sql::Backend make_backend(const std::string& url, const OpenOptions& options,
                          const Capabilities& capabilities) {
    const Address address = Address::parse(url);
    const auto order = std::make_shared<HostOrder>(address.hosts.size());
    const auto connect = [address, options, order]() -> std::unique_ptr<sql::Connection> {
        return std::make_unique<Driver>(open_session(address, options, *order));
    };
    return {.dialect = make_dialect(capabilities),
            .connect = connect,
            .peer = address.peer(),
            .doorbell = [connect, budget = options.budget](
                            const std::string& name,
                            const Doorbell::Forecast&) -> std::unique_ptr<Doorbell> {
                return std::make_unique<sql::LookingDoorbell>(connect, newest_in(name), 3, budget);
            }};
}

}  // namespace

std::unique_ptr<Store> open_store(const std::string& url, const OpenOptions& options) {
    // A server that cannot be used is noticed here and not at the first message.
    const Address address = Address::parse(url);
    HostOrder order(address.hosts.size());
    const Capabilities capabilities = open_session(address, options, order).capabilities;
    return sql::make_store(make_backend(url, options, capabilities), options);
}

std::unique_ptr<Schema> open_schema(const std::string& url, const OpenOptions& options) {
    // The schema is the same for all servers.
    return sql::make_schema(make_backend(url, options, {}), options);
}

std::unique_ptr<Store> open_url(const std::string& url, const OpenOptions& options) {
    return mysql::open_store(url, options);
}

std::unique_ptr<Schema> open_schema_url(const std::string& url, const OpenOptions& options) {
    return mysql::open_schema(url, options);
}

st_mysql* handle(Transaction& tx) {
    auto* const driver = dynamic_cast<Driver*>(sql::connection_of(tx));
    if (driver == nullptr)
        throw Error(ErrorKind::misuse, "handle: not a transaction of a MariaDB or MySQL store");
    driver->watch_transaction();
    return driver->native();
}

std::unique_ptr<TxContext> borrow(st_mysql* connection, BorrowOptions options) {
    if (connection == nullptr) throw std::invalid_argument("connection: null");
    return sql::make_borrowed(std::make_unique<Driver>(connection, options));
}

}  // namespace postroom::mysql
