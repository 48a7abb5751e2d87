// Driver: sql::Connection over MariaDB Connector/C.
#pragma once

#include <mysql.h>

#include <memory>
#include <string>

#include "backends/mysql/prepared.hpp"
#include "backends/mysql/session.hpp"
#include "sql/server_connection.hpp"
#include "sql/statement_cache.hpp"

namespace postroom::mysql {

class Driver final : public sql::ServerConnection {
public:
    // A connection of our own.
    explicit Driver(Session session);
    // The caller's connection, which must outlive this. Nothing about it is changed.
    explicit Driver(MYSQL* borrowed, BorrowOptions options = {});

    MYSQL* native() const { return connection_; }
    const Capabilities& capabilities() const { return session_.capabilities; }

    bool in_transaction() const override;
    bool ends_transaction(std::string_view sql) const override;
    SqlRows execute(const SqlStatement& statement) override;
    void execute_script(const std::string& script) override;
    bool healthy() const override { return ServerConnection::healthy() && quiet(connection_); }

protected:
    void require_usable(sql::Bracket bracket) const override;
    void run_all(std::span<const sql::Call> calls, const sql::OnRow& on_row) override;
    void send(const char* statement) override { simple(connection_, statement); }
    void send_begin(std::span<const sql::Call> calls) override;
    void send_commit() override;
    void rollback_quietly(const char* statement) noexcept override;
    void set_mark() override { send("SAVEPOINT postroom_transaction"); }
    bool mark_stands() override;
    bool stands_alone(const sql::Call& call) override;
    bool was_refused() const override;
    bool user_met_failure() const override;
    void failed(const Error& error) override;
    void forget_statements() override { cache_.clear(); }

private:
    void run_call(const sql::Call& call, const std::function<void(const sql::Row&)>& on_row);
    void run_prepared(const std::string& sql, Bindings& bindings,
                      const std::function<void(const sql::Row&)>& on_row);
    void limit_idling(bool limited);
    bool is_being_replaced(unsigned code);
    std::size_t packet_max();

    Session session_;  // empty when borrowed
    MYSQL* const connection_;
    sql::StatementCache<Prepared> cache_;
    bool idling_limited_ = false;
};

}  // namespace postroom::mysql
