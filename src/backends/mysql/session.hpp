// Session: an open connection, set up the way every connection of ours wants it.
#pragma once

#include <mysql.h>

#include <cstddef>
#include <memory>

#include "backends/mysql/address.hpp"
#include "backends/mysql/capabilities.hpp"
#include "backends/mysql/host_order.hpp"
#include "postroom/open_store.hpp"

namespace postroom::mysql {

struct CloseSession {
    void operator()(MYSQL* connection) const { mysql_close(connection); }
};

struct Session {
    std::unique_ptr<MYSQL, CloseSession> connection;
    Capabilities capabilities;
    std::size_t packet_max = 0;  // the server's max_allowed_packet
};

// READ COMMITTED, strict, UTC, utf8mb4, with the time limits of the options. Of several hosts it is
// the first that is there and not read-only, in their `order`; one that refuses the account ends
// the search. Throws Error.
Session open_session(const Address& address, const OpenOptions& options, HostOrder& order);

// The server's limit for `connection`, which may be anybody's.
std::size_t packet_max_of(MYSQL* connection);

// Runs one statement without results. Throws Error.
void simple(MYSQL* connection, const std::string& sql);

// True while there is nothing to read from the server: what it says unasked is goodbye.
bool quiet(MYSQL* connection);

}  // namespace postroom::mysql
