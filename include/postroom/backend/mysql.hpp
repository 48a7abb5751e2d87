// MariaDB 10.6 and newer, MySQL 8.0.19 and newer, through MariaDB Connector/C.
//
// A URL is mysql://user:password@host:port/database?option=value&..., or the same with mariadb://;
// what is not plain is written with percent signs. Options:
//   socket=/run/mysqld/mysqld.sock   instead of host and port
//   ssl-ca=, ssl-cert=, ssl-key=     files for TLS
//   ssl-mode=verify|required|disabled
// TLS with a verified certificate and host name is the default for every host that is not this
// machine. Here it is used when ssl-ca or ssl-mode ask for it.
//
// Several hosts stand with commas between them (user@a:3306,b:3306/database), the options hold for
// all of them, and one that is not this machine makes TLS the default for all. Each connection goes
// to the first host that is there and not read-only; one that could not be reached is asked last
// for the next 30 s. When a host is killed, cut off or made read-only, the next of two is reached
// within 15 s with the default time to connect; a server that is frozen under a statement is given
// up 10 s after the statement's own time limit.
//
// A schema is a database in these engines: the tables live in the database of the URL, and
// OpenOptions::schema is ignored. Names of queues have at most 32 characters.
#pragma once

#include <memory>
#include <string>

#include "postroom/open_store.hpp"

struct st_mysql;  // the driver's MYSQL

namespace postroom::mysql {

std::unique_ptr<Store> open_store(const std::string& url, const OpenOptions& options = {});
std::unique_ptr<Schema> open_schema(const std::string& url, const OpenOptions& options = {});

std::unique_ptr<Store> open_url(const std::string& url, const OpenOptions& options);
std::unique_ptr<Schema> open_schema_url(const std::string& url, const OpenOptions& options);

// The connection of a transaction that such a store began. Throws Error{misuse} for any other.
// Commit and roll back through the Transaction, not through the handle: a savepoint that the first
// call sets tells commit() whether somebody did.
st_mysql* handle(Transaction& tx);

// Your own connection, with your own START TRANSACTION and COMMIT. We run our statements on it and
// nothing else: never a commit, never a rollback of more than our own statement, no session
// setting, and without options.prepare no prepared statement left behind. LAST_INSERT_ID() changes,
// as after any INSERT. Under READ COMMITTED nothing of ours locks a gap; under REPEATABLE READ it
// may, as your own statements do. `connection` must outlive the result.
[[nodiscard]] std::unique_ptr<TxContext> borrow(st_mysql* connection, BorrowOptions options = {});

}  // namespace postroom::mysql
