// SQLite: the embedded default. One file holds the application's tables and both queues.
//
// Connections use WAL with synchronous=FULL: a commit is on disk when commit() returns. Writers of
// all processes take turns (BEGIN IMMEDIATE) and wait for each other up to the statement timeout.
#pragma once

#include <memory>
#include <string>

#include "postroom/open_store.hpp"

struct sqlite3;

namespace postroom::sqlite {

// `path` is a file, created if missing.
std::unique_ptr<Store> open_store(const std::string& path, const OpenOptions& options = {});
std::unique_ptr<Schema> open_schema(const std::string& path, const OpenOptions& options = {});

// "sqlite:shop.db", "sqlite:///var/lib/shop.db".
std::unique_ptr<Store> open_url(const std::string& url, const OpenOptions& options);
std::unique_ptr<Schema> open_schema_url(const std::string& url, const OpenOptions& options);

// The connection of a transaction that an SQLite store began. Throws Error{misuse} for any other.
// Commit and roll back through the Transaction, not through the handle: the connection's commit and
// rollback hooks tell commit() whether somebody did.
sqlite3* handle(Transaction& tx);

// Your own connection, with your own BEGIN and COMMIT. We run our statements on it and nothing
// else: never a commit, never a rollback, no hook installed, and without options.prepare no
// statement left open. `connection` must outlive the result.
[[nodiscard]] std::unique_ptr<TxContext> borrow(sqlite3* connection, BorrowOptions options = {});

}  // namespace postroom::sqlite
