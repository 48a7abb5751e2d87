#include "postroom/backend/postgres.hpp"

#include "backends/postgres/conninfo.hpp"
#include "backends/postgres/dialect.hpp"
#include "backends/postgres/doorbell.hpp"
#include "backends/postgres/driver.hpp"
#include "backends/postgres/patience.hpp"
#include "postroom/error.hpp"
#include "sql/backend.hpp"

namespace postroom::postgres {

namespace {

sql::Backend backend(const std::string& conninfo_text, const OpenOptions& options) {
    const Conninfo conninfo(conninfo_text, options);
    return {.dialect = make_dialect(),
            .connect =
                [conninfo, pooled = options.pooled,
                 patience = options.statement_timeout + answer_grace] {
                    return OwnConnection::open(conninfo, pooled, patience);
                },
            .peer = conninfo.peer(),
            .doorbell =
                [conninfo, pooled = options.pooled, budget = options.budget](
                    const std::string& name, const Doorbell::Forecast&) {
                    return make_doorbell(conninfo, name, pooled, budget);
                }};
}

}  // namespace

std::unique_ptr<Store> open_store(const std::string& conninfo, const OpenOptions& options) {
    return sql::make_store(backend(conninfo, options), options);
}

std::unique_ptr<Schema> open_schema(const std::string& conninfo, const OpenOptions& options) {
    return sql::make_schema(backend(conninfo, options), options);
}

std::unique_ptr<Store> open_url(const std::string& url, const OpenOptions& options) {
    return postgres::open_store(url, options);
}

std::unique_ptr<Schema> open_schema_url(const std::string& url, const OpenOptions& options) {
    return postgres::open_schema(url, options);
}

pg_conn* handle(Transaction& tx) {
    auto* const connection = dynamic_cast<OwnConnection*>(sql::connection_of(tx));
    if (connection == nullptr) {
        throw Error(ErrorKind::misuse,
                    "handle: the transaction does not belong to a PostgreSQL store");
    }
    return connection->handle();
}

std::unique_ptr<TxContext> borrow(pg_conn* connection, BorrowOptions options) {
    if (connection == nullptr) throw Error(ErrorKind::misuse, "borrow: no connection given");
    return sql::make_borrowed(std::make_unique<BorrowedConnection>(connection, options));
}

}  // namespace postroom::postgres
