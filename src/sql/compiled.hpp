// CompiledDialect: the dialect's texts with the store's names and the engine's placeholders put in.
#pragma once

#include "sql/dialect.hpp"

namespace postroom::sql {

struct QueueUnits {
    Unit claim, ack, ack_run, ack_run_kept, ack_one, ack_one_kept, ack_rows, retry, fail, extend,
        reap, redrive, hold, purge, counts, claimable_in;
    std::vector<std::string> find;  // texts with names put in; the store adds conditions
    std::string blocking;           // one of them
};

struct InsertUnits {
    Unit one, many;
};

struct CompiledDialect {
    QueueUnits outbox_queue;
    QueueUnits inbox_queue;
    InsertUnits insert, bare, bare_born;
    Unit enqueue;
    Unit statement;  // of one statement, or none: insert will do
    Unit receive, receive_many, see, mark;
    Unit paused_topics, pause_topic, resume_topic;
    std::vector<ExamText> exams;  // with names put in
    Unit now;

    CompiledDialect(const Dialect& dialect, const Names& names);
    const QueueUnits& of(Queue queue) const {
        return queue == Queue::outbox ? outbox_queue : inbox_queue;
    }
};

}  // namespace postroom::sql
