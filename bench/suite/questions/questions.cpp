#include "suite/questions/questions.hpp"

namespace bench {

const std::vector<Question>& questions() {
    static const std::vector<Question> all = {
        {"enqueue_single", "One message, one commit",
         "Every thread writes one message after the other, each in a transaction of its own. No "
         "dispatcher runs.",
         metric::rate, ask_enqueue_single, metric::rate},
        {"enqueue_business", "A message inside a business transaction",
         "BEGIN, UPDATE of an account, the message, COMMIT; every thread has an account of its "
         "own.",
         metric::rate, ask_enqueue_business},
        {"enqueue_bulk", "Many messages in one transaction",
         "One thread; the floor is the fastest way the driver has.", metric::rate, ask_enqueue_bulk,
         metric::rate},
        {"hot_single", "The whole life of a message, single commits",
         "Ours enqueues, hands over in memory, handles and acknowledges; the floor only inserts. "
         "The clock stops when all are acknowledged.",
         metric::rate, ask_hot_single},
        {"hot_bulk", "The whole life of a message, transactions of 100",
         "The floor is one thread that inserts and one that claims by UPDATE and deletes; with "
         "SQLite one thread does both in turn.",
         metric::rate, ask_hot_bulk},
        {"cold_drain", "Draining a backlog",
         "The floor claims by UPDATE (SKIP LOCKED) and deletes. 'verbs' are claim() and ack() in a "
         "loop, 'dispatcher' is the dispatcher with a handler that does nothing.",
         metric::rate, ask_cold_drain, metric::rate},
        {"inbox", "Receive, deduplicate and process",
         "100 messages are received, then claimed and marked done. The floor is a table with a "
         "unique key that keeps its rows.",
         metric::rate, ask_inbox},
        {"ordered_drain", "Draining with ordering keys",
         "The same backlog without keys and with messages spread over keys.", metric::rate,
         ask_ordered_drain},
        {"latency", "From the commit to the handler",
         "Messages at a steady rate into an idle queue. Own process: from the server's "
         "confirmation "
         "to the handler. Other process: from the return of commit(); the floor is a loop that "
         "LISTENs, whose writer notifies in its transaction.",
         metric::p50_us, ask_latency, metric::p50_us},
        {"snapshot", "An old snapshot is held",
         "3,000 messages a second in and out, two workers, batches of up to 100, with and without "
         "a REPEATABLE READ transaction that stays open in the same database.",
         metric::claim_end_ms, ask_snapshot, metric::wait_end_ms},
        {"growth_backlog", "Growth: the length of the backlog",
         "Processor time of claiming and acknowledging 1,000 messages while so many wait.",
         metric::cpu, ask_growth_backlog},
        {"growth_workers", "Growth: the number of workers",
         "The same backlog, claimed in batches of 50 by so many threads.", metric::cpu,
         ask_growth_workers},
        {"growth_payload", "Growth: the size of the payload",
         "Enqueued in transactions of 20 and drained in batches of 20.", metric::cpu,
         ask_growth_payload},
        {"growth_stores", "Growth: the number of stores",
         "One dispatcher over so many SQLite files, the same number of messages spread over them.",
         metric::cpu, ask_growth_stores},
        {"relay", "The relay",
         "The program, draining a backlog to its standard output, which is read, and to a local "
         "HTTP server that answers at once. Client CPU is that of the program.",
         metric::rate, ask_relay},
    };
    return all;
}

const Question* find_question(const std::string& id) {
    for (const Question& question : questions()) {
        if (question.id == id) return &question;
    }
    return nullptr;
}

}  // namespace bench
