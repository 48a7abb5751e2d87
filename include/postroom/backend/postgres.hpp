// PostgreSQL 15 and newer, through libpq.
//
// Everything a connection string can say is left to libpq: hosts for fail-over, TLS, service files,
// passwords. For a host that is not this machine, sslmode defaults to verify-full unless the URL
// says otherwise.
#pragma once

#include <memory>
#include <string>

#include "postroom/open_store.hpp"

struct pg_conn;

namespace postroom::postgres {

// `conninfo` is a postgresql:// URL or a keyword=value string.
std::unique_ptr<Store> open_store(const std::string& conninfo, const OpenOptions& options = {});
std::unique_ptr<Schema> open_schema(const std::string& conninfo, const OpenOptions& options = {});

std::unique_ptr<Store> open_url(const std::string& url, const OpenOptions& options);
std::unique_ptr<Schema> open_schema_url(const std::string& url, const OpenOptions& options);

// The connection of a transaction that a PostgreSQL store began. Throws Error{misuse} for any
// other. Commit and roll back through the Transaction, not through the handle. Ask for it again
// after each Outbox::post(), which leaves something to be sent with the next statement.
pg_conn* handle(Transaction& tx);

// Your own connection, with your own BEGIN and COMMIT. We run our statements on it and nothing
// else: never a commit, never a rollback, no session setting, and without options.prepare no
// prepared statement left behind. `connection` must outlive the result.
[[nodiscard]] std::unique_ptr<TxContext> borrow(pg_conn* connection, BorrowOptions options = {});

}  // namespace postroom::postgres
