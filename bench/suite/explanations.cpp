#include "suite/explanations.hpp"

#include <array>

namespace bench {
namespace {

struct Explanation {
    const char* question;
    const char* engine;
    const char* series;
    const char* why;
};

// Counts are instructions per message of the client under callgrind, an optimised build.
constexpr std::array explanations{
    Explanation{"enqueue_business", "postgresql", "enqueue, our transaction",
                "the INSERT costs the server more: it reads the table's eight CHECK constraints "
                "anew for every statement (pgbench on a busy machine, one row: 104 us of server "
                "time, 80 without them, 72 for the hand-written one)"},
    Explanation{"cold_drain", "postgresql", "verbs",
                "for each message five descents of B-trees (the lease in the claim, live in the "
                "read, lease and twice live in the acknowledgement), two index entries of the "
                "lease, and a linear search in the list of nonces; every acknowledgement is "
                "flushed, as is the floor's"},
    Explanation{"cold_drain", "postgresql", "dispatcher",
                "what the verbs cost, and in the client 11 allocations for each message, 5 of them "
                "by the verbs"},
    Explanation{"enqueue_business", "postgresql", "enqueue, borrowed connection",
                "nothing may be left behind on a borrowed connection, so the INSERT is parsed and "
                "planned every time: a third more server time than on a connection of our own; the "
                "hand-written one is prepared"},
    Explanation{"latency", "postgresql", "dispatcher",
                "each message takes a NOTIFY after its commit, a wake-up of the listening process, "
                "and a claim of two transactions there"},
    Explanation{"hot_single", "postgresql", "enqueue to ack",
                "the floor ends with the INSERT; ours also delivers, and deletes what was "
                "delivered, some at a time; and the INSERT itself costs the server more, see "
                "'enqueue, our transaction'"},
    Explanation{"enqueue_bulk", "sqlite", "enqueue_all",
                "62,000 instructions, 45,000 of them in sqlite3_step: RETURNING opens and closes a "
                "temporary B-tree for every row (about 16,000), AUTOINCREMENT rewrites "
                "sqlite_sequence for every row, the time is computed from text; 13,000 go into "
                "copying the message and binding its parameters by name"},
    Explanation{"enqueue_single", "sqlite", "enqueue",
                "the same statement as in enqueue_all, and each writer commits by itself: writers "
                "of several connections wait for the lock of the file by sleeping"},
    Explanation{"hot_single", "sqlite", "enqueue to ack",
                "each enqueue and each group of acknowledgements commits by itself; writers of "
                "several connections wait for the lock of the file by sleeping"},
    Explanation{"cold_drain", "sqlite", "verbs",
                "61,000 instructions: 33,000 for the acknowledgement (five statements over live, "
                "waiting and lease, each reading the numbers as JSON), 27,000 for the claim, which "
                "inserts a lease with its indexes and reads the message back"},
    Explanation{"cold_drain", "sqlite", "dispatcher",
                "what the verbs cost, and in the dispatcher 14 allocations and 13 moves of a whole "
                "Message for each message"},
};

}  // namespace

std::string explanation(const Bar& bar) {
    for (const Explanation& one : explanations) {
        if (bar.question == one.question && bar.engine == one.engine && bar.series == one.series)
            return one.why;
    }
    return "";
}

}  // namespace bench
