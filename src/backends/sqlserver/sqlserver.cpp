#include "postroom/backend/sqlserver.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "backends/sqlserver/dialect.hpp"
#include "backends/sqlserver/driver.hpp"
#include "postroom/error.hpp"
#include "sql/backend.hpp"
#include "sql/looking_doorbell.hpp"

namespace postroom::sqlserver {

namespace {

// `name` is schema.queue.
std::string newest_in(const std::string& name) {
    const std::size_t dot = name.find('.');
    const std::string table = fmt::format("[{}].[{}", name.substr(0, dot), name.substr(dot + 1));
    return fmt::format(
        "SELECT (SELECT MAX(seq) FROM {0}_message] WITH (READPAST, READCOMMITTEDLOCK) WHERE seq > "
        "?), "
        "(SELECT MAX(id) FROM {0}_turn] WITH (READPAST, READCOMMITTEDLOCK) WHERE id > ?)",
        table);
}

sql::Backend make_backend(const std::string& url, const OpenOptions& options) {
    const Address address = Address::parse(url);
    const auto connect = [address, options]() -> std::unique_ptr<sql::Connection> {
        return std::make_unique<Driver>(open_session(address, options), answer_within(options));
    };
    return {.dialect = make_dialect(),
            .connect = connect,
            .peer = address.peer(),
            .doorbell = [connect, budget = options.budget](
                            const std::string& name,
                            const Doorbell::Forecast&) -> std::unique_ptr<Doorbell> {
                return std::make_unique<sql::LookingDoorbell>(connect, newest_in(name), 2, budget);
            }};
}

}  // namespace

std::unique_ptr<Store> open_store(const std::string& url, const OpenOptions& options) {
    return sql::make_store(make_backend(url, options), options);
}

std::unique_ptr<Schema> open_schema(const std::string& url, const OpenOptions& options) {
    return sql::make_schema(make_backend(url, options), options);
}

std::unique_ptr<Store> open_url(const std::string& url, const OpenOptions& options) {
    return sqlserver::open_store(url, options);
}

std::unique_ptr<Schema> open_schema_url(const std::string& url, const OpenOptions& options) {
    return sqlserver::open_schema(url, options);
}

void* handle(Transaction& tx) {
    auto* const driver = dynamic_cast<Driver*>(sql::connection_of(tx));
    if (driver == nullptr)
        throw Error(ErrorKind::misuse, "handle: not a transaction of a SQL Server store");
    return driver->hand_out();
}

std::unique_ptr<TxContext> borrow(void* connection) {
    if (connection == nullptr) throw std::invalid_argument("connection: null");
    return sql::make_borrowed(std::make_unique<Driver>(connection));
}

}  // namespace postroom::sqlserver
