// Waiting for a server that may never answer.
//
// TCP notices a peer that is gone, not one that was frozen: that still acknowledges what it is
// sent. So every wait of ours ends by itself. And it need not come to that: a server that is silent
// for a while is asked by a connection of its own whether it is still there, which tells a frozen
// one from a statement that takes its time.
#pragma once

#include <libpq-fe.h>

#include <optional>

#include "backends/postgres/conninfo.hpp"
#include "postroom/clock.hpp"
#include "postroom/error.hpp"

namespace postroom::postgres {

// What a server may take beyond the time limit of a statement to say that it is over.
inline constexpr Duration answer_grace = std::chrono::seconds{5};
inline constexpr Duration without_end = Duration::max();

// Sends what is left to send and returns nullopt as soon as PQgetResult() has something to tell, be
// it that the connection is lost. Otherwise nothing was heard for the time that is returned:
// `patience`, or less where the server takes no connections any more either. `conninfo` is what
// `connection` was made with.
std::optional<Duration> await_answer(PGconn& connection, const Conninfo& conninfo,
                                     Duration patience);

// Sends what is left to send and returns nullopt once everything is sent or the connection is lost.
// Otherwise the time that it waited: `patience`, or less as for await_answer().
std::optional<Duration> await_sent(PGconn& connection, const Conninfo& conninfo, Duration patience);

Error no_answer(ErrorKind kind, Duration waited);

}  // namespace postroom::postgres
