// Opening a connection to SQL Server, with the settings of our own sessions.
#pragma once

#include <sql.h>

#include <memory>

#include "backends/sqlserver/address.hpp"
#include "postroom/open_store.hpp"

namespace postroom::sqlserver {

// Closes and frees a connection.
struct Disconnect {
    void operator()(void* connection) const;
};
using ConnectionHandle = std::unique_ptr<void, Disconnect>;

// How long to wait for an answer before the server counts as gone.
Duration answer_within(const OpenOptions& options);

// Throws Error. The error never holds the connection string.
ConnectionHandle open_session(const Address& address, const OpenOptions& options);

}  // namespace postroom::sqlserver
