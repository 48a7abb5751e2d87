// CompiledDialect: the dialect's texts with the store's names and the engine's placeholders put in.
#pragma once

#include "sql/dialect.hpp"
#include "sql/search.hpp"

namespace postroom::sql {

struct AckUnits {
    struct Way {
        Unit plain{}, kept{};
    };
    Unit group{}, rows{};
    Way run{}, one{};
};

struct QueueUnits {
    Unit claim, held, retry, fail, extend, reap, redrive, retry_now, hold, purge, counts;
    Unit claimable_in, attempts;
    Unit keyed{};
    AckUnits ack;
    SearchTexts find;  // texts with names put in; the store adds conditions
    std::vector<NumbersText> numbers;
    std::string blocking;  // one of them
    std::string blocking_of_key;
};

struct InsertUnits {
    Unit one, many;
};

struct RestoreUnits {
    Unit look, adopt, raise, hold, end_hold;
};

struct CompiledDialect {
    QueueUnits outbox_queue;
    QueueUnits inbox_queue;
    InsertUnits insert, bare, bare_born;
    Unit insert_packed;
    Unit enqueue;
    Unit as_writer;  // no statements: there is no such thing
    Unit find_key;
    Unit statement;  // of one statement, or none: insert will do
    Unit receive, receive_many, see, mark;
    Unit paused_topics, pause_topic, resume_topic;
    Unit report_worker, come_to_rest, forget_worker, workers, record_audit, audit_log;
    RestoreUnits restore;
    std::vector<HealthCheckText> health_checks;  // with names put in
    Unit now;

    CompiledDialect(const Dialect& dialect, const Names& names);
    const QueueUnits& of(Queue queue) const {
        return queue == Queue::outbox ? outbox_queue : inbox_queue;
    }
};

}  // namespace postroom::sql
