// Driver: sql::Connection over ODBC.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "backends/sqlserver/link.hpp"
#include "backends/sqlserver/session.hpp"
#include "sql/server_connection.hpp"

namespace postroom::sqlserver {

class Driver final : public sql::ServerConnection {
public:
    // A connection of our own.
    Driver(ConnectionHandle session, Duration answer_within);
    // The caller's connection, which must outlive this.
    explicit Driver(SQLHDBC borrowed);

    // From now on somebody else may begin and end transactions on it.
    SQLHDBC hand_out();

    bool in_transaction() const override;
    bool ends_transaction(std::string_view sql) const override;
    SqlRows execute(const SqlStatement& statement) override;
    void execute_script(const std::string& script) override;
    bool healthy() const override;

protected:
    void require_usable(sql::Bracket bracket) const override;
    void run_all(std::span<const sql::Call> calls, const sql::OnRow& on_row) override;
    void send(const char* statement) override;
    void send_begin(std::span<const sql::Call> calls) override;
    void send_commit() override;
    void rollback_quietly(const char* statement) noexcept override;
    void set_mark() override;
    bool mark_stands() override;
    void failed(const Error& error) override;
    void forget_statements() override {}

private:
    // Notes that the connection was used, and whether the server is gone.
    template <class Work>
    void on_link(const Work& work) const;

    ConnectionHandle session_;  // empty when borrowed
    const Link link_;
    bool shared_;  // others use the connection too
    mutable bool lost_ = false;
    mutable std::optional<bool> in_transaction_;  // none: the server has to be asked
    mutable std::chrono::steady_clock::time_point used_at_ = std::chrono::steady_clock::now();
};

}  // namespace postroom::sqlserver
