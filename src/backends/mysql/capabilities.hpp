// Capabilities: what the server at the other end can do. The two engines differ in little, and all
// of it is here.
#pragma once

#include <mysql.h>

#include <string>

#include "postroom/clock.hpp"

namespace postroom::mysql {

// How a claim gets its messages. Both engines lack UPDATE ... RETURNING.
enum class ClaimPlan {
    // Under the claim gate: lock candidates with SKIP LOCKED along an index, write leases, commit,
    // read the messages by their lease. Works alike on both.
    lock_lease_read,
};

struct Capabilities {
    bool mariadb = true;
    bool insert_returning = true;   // INSERT ... RETURNING; else LAST_INSERT_ID() is asked for
    bool idle_limit = true;         // idle_transaction_timeout
    bool replaces_routines = true;  // CREATE OR REPLACE; else one is missing while it is replaced
    ClaimPlan claim_plan = ClaimPlan::lock_lease_read;

    // Throws Error{rejected} for a server that is too old.
    static Capabilities of(MYSQL* connection);

    // The session setting that bounds a statement, as an assignment.
    std::string statement_limit(Duration limit) const;
};

}  // namespace postroom::mysql
