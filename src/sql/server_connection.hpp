// ServerConnection: what drivers share whose engine answers over a network.
//
// A statement that undoes itself when it fails needs no bracket; but one that commits by itself and
// whose answer is lost has an outcome that nobody knows.
#pragma once

#include <span>

#include "sql/bracketed_connection.hpp"

namespace postroom::sql {

class ServerConnection : public BracketedConnection {
protected:
    using BracketedConnection::BracketedConnection;

    // Whether a call undoes itself when it fails; a procedure runs several statements.
    virtual bool stands_alone(const Call& call);

    // Whether the server answered the call that has just failed, and said that it did nothing.
    virtual bool was_refused() const { return false; }

    bool needs_transaction(std::span<const Call> calls) override;
    bool needs_savepoint(std::span<const Call> calls) override;
    void run_alone(std::span<const Call> calls, const OnRow& on_row) override;
};

}  // namespace postroom::sql
