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

// Measured on two processors, with perf and /proc, client and server side by side.
constexpr std::array explanations{
    Explanation{
        "enqueue_single", "postgresql", "enqueue",
        "less than half of the floor's processor time, but who was told comes back over two "
        "processors that the server needs too, and the next group begins without those who "
        "come late. Where a flush takes a millisecond, each thread can write a thousand "
        "messages a second at most, which is 2.7 times the floor"},
    Explanation{"enqueue_single", "mariadb", "enqueue",
                "as on PostgreSQL: less processor time than the floor, groups that begin without "
                "those who come late"},
    Explanation{"enqueue_business", "postgresql", "enqueue, our transaction",
                "one round trip less than by hand, and the INSERT itself costs the server 17 us "
                "in place of 15 (50 of them in a pipeline); but BEGIN with its isolation level and "
                "COMMIT are parsed every time, the answer is read into a result, and every other "
                "millisecond a notification follows a commit. Without waiting for the answer: "
                "post()"},
    Explanation{"enqueue_business", "postgresql", "post, our transaction",
                "as enqueue, with a round trip less"},
    Explanation{"enqueue_business", "postgresql", "enqueue, borrowed connection",
                "nothing may be left behind on a borrowed connection, so the INSERT is parsed and "
                "planned every time; the hand-written one is prepared"},
    Explanation{"cold_drain", "postgresql", "verbs",
                "a batch of 100 takes about 1.1 ms of the server: the claim 0.4 (the leases with "
                "their two index entries 0.2, the choice among fresh messages 0.07, questions "
                "about priorities, due messages and keys 0.05, the round 0.03), the read 0.16, the "
                "ack 0.22, the rest is the protocol, 33 columns for each message and three "
                "transactions. By hand it is 1.4: to be twice as fast, half of ours would have to "
                "go. At 1000 the price of the calls is gone, and it is the floor that moves, from "
                "43,000 to 118,000 messages a second, with the plan that it happens to get; ours "
                "stays between 120,000 and 138,000"},
    Explanation{"cold_drain", "postgresql", "verbs, history",
                "every delivered message is written once more, to the day's partition"},
    Explanation{"cold_drain", "postgresql", "dispatcher",
                "what the verbs cost; handler, claim and settle run side by side, and on two "
                "processors they and the server wait for one another"},
    Explanation{"latency", "postgresql", "dispatcher",
                "each message takes a NOTIFY after its commit, a wake-up of the listening process, "
                "a claim of two transactions there and a wake-up of a worker: seven changes of "
                "thread, each 50 to 100 us on this machine when it is idle"},
    Explanation{"latency", "postgresql", "hot path",
                "one wake-up of a worker: 35 us in one hour and 70 in another on the same machine, "
                "by what it costs there to wake a processor that sleeps"},
    Explanation{
        "hot_single", "postgresql", "enqueue to ack",
        "the floor ends with the INSERT; ours also wakes a worker, delivers, and deletes what "
        "was delivered, some at a time: 40 us more of the client, half of them in the "
        "kernel (2.7 calls of futex), and about 30 of the server for the acknowledgement and for "
        "sharing the processors with all that"},
    Explanation{"hot_bulk", "postgresql", "enqueue_all to ack",
                "half of the floor's server time, but the enqueuing thread, the worker and the "
                "settles share two processors with the server"},
    Explanation{
        "snapshot", "postgresql", "verbs",
        "flat: a claim of some 30 messages costs about a millisecond of calls, transactions "
        "and wake-ups from the first second to the last"},
    Explanation{"hot_single", "sqlite", "enqueue to ack",
                "two thirds of the processor time are the kernel's: 3.9 switches of threads for "
                "each message, of writers that wait for the shared commit and of the dispatcher"},
    Explanation{
        "hot_bulk", "sqlite", "enqueue_all to ack",
        "the floor does both in one thread; ours hands over to a worker and settles in a third, "
        "and each of them waits for the file and for a processor"},
    Explanation{"enqueue_single", "sqlite", "enqueue",
                "the message carries more columns and two checks more than the floor's"},
    Explanation{"cold_drain", "sqlite", "dispatcher",
                "what the verbs cost, and in the dispatcher 14 allocations and 13 moves of a whole "
                "Message for each message; claims step over what is leased at the head"},
    Explanation{"cold_drain", "mariadb", "verbs",
                "procedures are interpreted: each statement opens and locks its tables anew"},
    Explanation{"cold_drain", "mariadb", "dispatcher",
                "what the verbs cost, and several claims in flight whose leases each claim steps "
                "over"},
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
