// What a backend folder hands to the SQL store: its dialect, a way to connect, and a harmless name.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "postroom/open_store.hpp"
#include "postroom/store.hpp"
#include "sql/connection.hpp"
#include "sql/dialect.hpp"

namespace postroom::sql {

struct Backend {
    Dialect dialect;
    std::function<std::unique_ptr<Connection>()> connect;
    std::string peer;  // where it leads to, for error texts and the store id; no secret
    // The bell of one queue; `name` tells it from those of other queues in the database. `forecast`
    // is for bells that miss nothing; empty where the dialect has no text for it.
    std::function<std::unique_ptr<Doorbell>(const std::string& name, Doorbell::Forecast forecast)>
        doorbell;
    // Where the database is (RestoreTexts::here), where no statement can tell; empty: one can.
    std::function<std::string()> place{};
    // Writers take turns in this database anyway, so small units of several threads share a commit.
    bool group_commit = false;
};

std::unique_ptr<Store> make_store(Backend backend, const OpenOptions& options);
std::unique_ptr<Schema> make_schema(Backend backend, const OpenOptions& options);

// The connection under a transaction of a store, for the backends' handle(). nullptr for foreign
// contexts.
Connection* connection_of(TxContext& tx);

// A TxContext over a caller's connection that was wrapped by the backend: never begins, commits or
// rolls back.
std::unique_ptr<TxContext> make_borrowed(std::unique_ptr<Connection> connection);

}  // namespace postroom::sql
