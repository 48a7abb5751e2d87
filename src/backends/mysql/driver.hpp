// Driver: sql::Connection over MariaDB Connector/C.
#pragma once

#include <mysql.h>

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "backends/mysql/prepared.hpp"
#include "backends/mysql/session.hpp"
#include "sql/connection.hpp"

namespace postroom::mysql {

// StatementCache: the prepared statements of one connection; the least recently used goes first.
class StatementCache {
public:
    // Shared, so that a statement in use outlives its place here.
    std::shared_ptr<Prepared> get(MYSQL* connection, const std::string& sql);
    void clear();

private:
    struct Entry {
        std::string sql;
        std::shared_ptr<Prepared> prepared;
    };
    std::list<Entry> entries_;  // the most recently used first
    std::unordered_map<std::string_view, std::list<Entry>::iterator> by_sql_;
};

class Driver final : public sql::Connection {
public:
    // A connection of our own.
    explicit Driver(Session session);
    // The caller's connection, which must outlive this. Nothing about it is changed, no statement
    // stays on it.
    explicit Driver(MYSQL* borrowed);

    MYSQL* native() const { return connection_; }
    const Capabilities& capabilities() const { return session_.capabilities; }

    void run(sql::Bracket bracket, std::span<const sql::Call> calls,
             const sql::OnRow& on_row) override;
    void begin() override;
    void commit() override;
    void rollback() override;
    bool in_transaction() const override;
    SqlRows execute(const SqlStatement& statement) override;
    void execute_script(const std::string& script) override;
    bool healthy() const override { return !broken_ && quiet(connection_); }

private:
    template <class Work>
    void guarded(const Work& work);
    void run_in_transaction(std::span<const sql::Call> calls, const sql::OnRow& on_row);
    void run_separately(std::span<const sql::Call> calls, const sql::OnRow& on_row);
    void run_joined(std::span<const sql::Call> calls, const sql::OnRow& on_row);
    void run_all(std::span<const sql::Call> calls, const sql::OnRow& on_row);
    void run_call(const sql::Call& call, const std::function<void(const sql::Row&)>& on_row);
    void run_prepared(const std::string& sql, Bindings& bindings,
                      const std::function<void(const sql::Row&)>& on_row);
    void send_commit();
    void limit_idling(bool limited);
    void rollback_quietly(const char* sql) noexcept;
    void require_usable() const;
    std::size_t packet_max();

    const bool borrowed_;
    Session session_;  // empty when borrowed
    MYSQL* const connection_;
    StatementCache cache_;
    bool broken_ = false;
    bool idling_limited_ = false;
};

}  // namespace postroom::mysql
