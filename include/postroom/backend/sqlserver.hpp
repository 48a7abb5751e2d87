// SQL Server 2017 and newer, and Azure SQL, through ODBC (unixODBC).
//
// A URL is sqlserver://user:password@host:port/database?option=value&...; what is not plain is
// written with percent signs. Options:
//   driver=ODBC Driver 18 for SQL Server   as odbcinst.ini names it; by default that one where it
//   is
//                                          installed, else FreeTDS
//   servername=section                     of freetds.conf, in place of host and port (FreeTDS
//   only) ssl-mode=verify|disabled
// Another machine is reached only with TLS, a verified certificate and a verified host name. Here
// TLS is used when ssl-mode=verify asks for it. FreeTDS verifies only what its own configuration
// tells it to: for another machine, and for ssl-mode=verify, the URL names a section that does.
#pragma once

#include <memory>
#include <string>

#include "postroom/open_store.hpp"

namespace postroom::sqlserver {

std::unique_ptr<Store> open_store(const std::string& url, const OpenOptions& options = {});
std::unique_ptr<Schema> open_schema(const std::string& url, const OpenOptions& options = {});

std::unique_ptr<Store> open_url(const std::string& url, const OpenOptions& options);
std::unique_ptr<Schema> open_schema_url(const std::string& url, const OpenOptions& options);

// The SQLHDBC of a transaction that such a store began. Throws Error{misuse} for any other. Commit
// and roll back through the Transaction, not through the handle.
void* handle(Transaction& tx);

// Your own SQLHDBC, with your own BEGIN TRANSACTION, or with autocommit off. We run our statements
// on it and nothing else: never a commit, never a rollback of more than our own statement, no
// session setting, no statement left behind. No result of yours may be open meanwhile: a connection
// has one active statement. `connection` must outlive the result.
[[nodiscard]] std::unique_ptr<TxContext> borrow(void* connection);

}  // namespace postroom::sqlserver
