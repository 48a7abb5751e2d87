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
                "the caller's UPDATE goes through execute(), which is parsed and planned every "
                "time, BEGIN is a round trip of its own, and the INSERT is sent in two packets"},
    Explanation{"cold_drain", "postgresql", "verbs",
                "27 us of server time against 18 to 21: for each message seven descents of B-trees "
                "(one in the claim; live, lease and waiting in the read; lease, live and live in "
                "the acknowledgement) and two index entries of the lease; the list of nonces is "
                "searched linearly, twice"},
    Explanation{"cold_drain", "postgresql", "dispatcher",
                "what the verbs cost, and 28,000 instructions in the client: 14 allocations, 13 "
                "moves of a whole Message (5,400) and 4 lookups of the route for each message"},
    Explanation{"enqueue_business", "postgresql", "enqueue, borrowed connection",
                "nothing may be left behind on a borrowed connection, so the INSERT is parsed and "
                "planned every time; the hand-written one is prepared"},
    Explanation{"latency", "postgresql", "dispatcher",
                "a process notifies at most once in 20 ms, so at 100 messages a second every other "
                "one is found by the next look of the consumer"},
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
