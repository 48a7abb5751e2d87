// PostgresShop: a database with the program's table and an outbox in it.
#pragma once

#include <memory>
#include <string>

#include "adapters/application.hpp"
#include "postroom/backend/postgres.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test {

class PostgresShop {
public:
    PostgresShop() { database_.psql("CREATE TABLE orders (name text NOT NULL)"); }

    const std::string& url() const { return database_.url(); }
    Store& store() { return *store_; }
    std::size_t orders() const {
        return std::stoul(database_.psql("SELECT count(*) FROM orders").at(0).at(0).value());
    }
    // Ends every connection to the database.
    void disconnect_all() const {
        psql(database_.url(),
             "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
             "WHERE datname = current_database() AND pid <> pg_backend_pid()");
    }

private:
    PostgresDatabase database_;
    std::unique_ptr<Store> store_ = postgres::open_store(database_.url(), {.deploy_schema = true});
};

}  // namespace postroom::test
