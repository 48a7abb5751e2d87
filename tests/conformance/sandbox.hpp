// Sandbox: a store of one's own for one test, on whichever backend the test runs.
//
// A Backend makes sandboxes. The laws in this folder are written against Sandbox alone and hold on
// every backend; a new backend joins by describing itself and calling the POSTROOM_..._LAWS macros
// of law.hpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "postroom/open_store.hpp"
#include "postroom/operator.hpp"
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
    void pass(Duration duration) override { std::this_thread::sleep_for(duration); }

    // Runs statements on a connection that has nothing to do with the library; the rows of the last
    // one.
    virtual SqlRows sql(const std::string& text) = 0;

    // By which others open the same database.
    virtual std::string url() const = 0;

    virtual std::unique_ptr<Store> reopen_with(const OpenOptions& options) = 0;
    virtual std::unique_ptr<Schema> schema(const OpenOptions& options) = 0;

    // What runs a statement on the native connection of a transaction, behind the library's back.
    using RunNatively = std::function<void(const std::string& statement)>;
    virtual RunNatively native_handle(Transaction& tx) = 0;

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
    // How many bytes a column of that type holds.
    virtual std::string byte_count(const std::string& column) const {
        return "length(" + column + ")";
    }
    // A payload as a plain INSERT gives it; `text` has no quotes.
    virtual std::string payload(const std::string& text) const { return "'" + text + "'"; }
    virtual std::string add_column(const std::string& table_name) const {
        return "ALTER TABLE " + table_name + " ADD COLUMN note text";
    }
    // A transaction and savepoints of the caller's.
    virtual std::string begin() const { return "BEGIN"; }
    virtual std::string savepoint(const std::string& name) const { return "SAVEPOINT " + name; }
    virtual std::string roll_back_to(const std::string& name) const {
        return "ROLLBACK TO SAVEPOINT " + name;
    }
    virtual std::string release(const std::string& name) const {
        return "RELEASE SAVEPOINT " + name;
    }
    // These texts and numbers as one text.
    virtual std::string joined(const std::vector<std::string>& parts) const {
        std::string text = parts.front();
        for (std::size_t i = 1; i < parts.size(); ++i) text += " || (" + parts[i] + ")";
        return text;
    }
    // The time so many seconds before the statement's.
    virtual std::string seconds_ago(const std::string& seconds) const = 0;
    // What makes `seq` the number of the next plain INSERT; where one table holds all, there is no
    // need for it.
    virtual std::string number_from(std::uint64_t /*seq*/) const { return ""; }
    // What makes the table drop each new row of the topic "dropped"; where no trigger can, nothing.
    virtual std::string row_dropper(const std::string& /*table_name*/) const { return ""; }
    // What a server does by itself some time after much was written.
    virtual void gather_statistics() {}
    // The table in which a new message of the outbox stands, and whether it is one for all: then a
    // plain INSERT may give any field.
    virtual std::string message_table() const { return "outbox_live"; }
    virtual bool one_table() const { return false; }
    // Whether a plain INSERT with an idempotency key is refused whatever the key.
    virtual bool refuses_plain_keys() const { return false; }
    // The names of all tables, views, indexes and functions in the database that are not the
    // engine's own.
    virtual std::vector<std::string> objects() = 0;
};

struct Backend {
    std::string name;
    // With options.deploy_schema the database is ready for use, else it is empty. None: there is no
    // such server, and no law is put to the test.
    std::function<std::unique_ptr<Sandbox>(const OpenOptions& options)> make;
};

}  // namespace postroom::test
