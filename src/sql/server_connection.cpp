#include "sql/server_connection.hpp"

#include "sql/statement.hpp"

namespace postroom::sql {

bool ServerConnection::stands_alone(const Call& call) { return !call.statement->traits.compound; }

bool ServerConnection::needs_transaction(std::span<const Call> calls) {
    return calls.size() != 1 ||
           !(stands_alone(calls[0]) || calls[0].statement->traits.own_transaction);
}

bool ServerConnection::needs_savepoint(std::span<const Call> calls) {
    return calls.size() > 1 || (calls.size() == 1 && !stands_alone(calls[0]));
}

void ServerConnection::run_alone(std::span<const Call> calls, const OnRow& on_row) {
    const Traits& traits = calls[0].statement->traits;
    try {
        run_all(calls, on_row);
    } catch (const Error& error) {
        const bool refused = was_refused();  // asked before the server is asked anything else
        // Cut off, it may have left its transaction open.
        if (traits.own_transaction) rollback_quietly("ROLLBACK");
        // It commits by itself, so without an answer nobody knows whether it did.
        if (traits.reads_only || refused || error.kind() != ErrorKind::unavailable) throw;
        throw Error(ErrorKind::outcome_unknown, error.what());
    }
}

}  // namespace postroom::sql
