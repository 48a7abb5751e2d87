// Sandbox: a store of one's own for one test, on whichever backend the test runs.
//
// A Backend makes sandboxes. The laws in this folder are written against Sandbox alone and hold on
// every backend; a new backend joins by describing itself and calling the POSTROOM_..._LAWS macros
// of law.hpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "postroom/open_store.hpp"
#include "postroom/schema.hpp"
#include "postroom/store.hpp"
#include "postroom/transaction.hpp"

namespace postroom::test {

class Sandbox {
public:
    Sandbox() = default;
    Sandbox(const Sandbox&) = delete;
    Sandbox& operator=(const Sandbox&) = delete;
    virtual ~Sandbox() = default;

    virtual Store& store() = 0;

    // A second store object on the same database: what another process would have.
    virtual std::unique_ptr<Store> reopen() = 0;

    // Lets `duration` of the database's time pass.
    virtual void pass(Duration duration) = 0;
};

// SqlSandbox: a database that can be looked at behind the library's back.
class SqlSandbox : public Sandbox {
public:
    // Runs statements on a connection that has nothing to do with the library; the rows of the last
    // one.
    virtual SqlRows sql(const std::string& text) = 0;

    virtual std::unique_ptr<Store> reopen_with(const OpenOptions& options) = 0;
    virtual std::unique_ptr<Schema> schema(const OpenOptions& options) = 0;

    // The transaction that somebody else's code has open on a connection of its own.
    virtual std::unique_ptr<TxContext> borrowed() = 0;

    // How the engine writes the table `name` of `schema`.
    virtual std::string table(const std::string& schema, const std::string& name) const = 0;
    // The statement that drops the index `name` of the table `table_name`.
    virtual std::string drop_index(const std::string& name,
                                   const std::string& /*table_name*/) const {
        return "DROP INDEX " + table("infra", name);
    }
    // The engine's placeholder for parameter `number`, and its type for bytes.
    virtual std::string placeholder(int number) const = 0;
    virtual std::string bytes_type() const = 0;
    // The names of all tables, views, indexes and functions in the database that are not the
    // engine's own.
    virtual std::vector<std::string> objects() = 0;
};

struct Backend {
    std::string name;
    // With options.deploy_schema the database is ready for use, else it is empty.
    std::function<std::unique_ptr<Sandbox>(const OpenOptions& options)> make;
};

}  // namespace postroom::test
