#include "sql/compiled.hpp"

namespace postroom::sql {

namespace {

class Compiler {
public:
    Compiler(const Dialect& dialect, const Names& names) : dialect_(dialect), names_(names) {}

    std::string text(const std::string& text, Queue queue) const {
        return expand(text, names_, queue, dialect_.qualify);
    }

    std::vector<std::string> texts(const std::vector<std::string>& sources, Queue queue) const {
        std::vector<std::string> out;
        for (const std::string& source : sources) out.push_back(text(source, queue));
        return out;
    }

    Unit unit(const UnitText& source, Queue queue) const {
        Unit out{.statements = {}, .separate = source.separate};
        for (const std::string& statement : source.statements) {
            out.statements.push_back(
                Statement::compile(text(statement, queue), dialect_.placeholder));
        }
        for (std::size_t i = 0; i < source.skips.size(); ++i)
            out.statements[i].skip = source.skips[i];
        return out;
    }

    // Of one statement.
    Unit unit(const std::string& source, Queue queue) const {
        return unit(UnitText{.statements = {source}}, queue);
    }

    InsertUnits insert(const InsertTexts& t) const {
        return {.one = unit(t.one, Queue::outbox), .many = unit(t.many, Queue::outbox)};
    }

    QueueUnits queue(const QueueTexts& t, Queue q) const {
        return {.claim = unit(t.claim, q),
                .ack = unit(t.ack, q),
                .ack_run = unit(t.ack_run, q),
                .ack_run_kept = unit(t.ack_run_kept, q),
                .ack_one = unit(t.ack_one, q),
                .ack_one_kept = unit(t.ack_one_kept, q),
                .ack_rows = unit(t.ack_rows, q),
                .retry = unit(t.retry, q),
                .fail = unit(t.fail, q),
                .extend = unit(t.extend, q),
                .reap = unit(t.reap, q),
                .redrive = unit(t.redrive, q),
                .hold = unit(t.hold, q),
                .purge = unit(t.purge, q),
                .counts = unit(t.counts, q),
                .claimable_in = unit(t.claimable_in, q),
                .find = texts(t.find, q),
                .blocking = text(t.blocking, q)};
    }

private:
    const Dialect& dialect_;
    const Names& names_;
};

}  // namespace

CompiledDialect::CompiledDialect(const Dialect& dialect, const Names& names) {
    const Compiler c(dialect, names);
    outbox_queue = c.queue(dialect.outbox_queue, Queue::outbox);
    inbox_queue = c.queue(dialect.inbox_queue, Queue::inbox);
    insert = c.insert({dialect.outbox.insert, dialect.outbox.insert_many});
    bare = c.insert(dialect.outbox.bare);
    bare_born = c.insert(dialect.outbox.bare_born);
    enqueue = c.unit(dialect.outbox.enqueue, Queue::outbox);
    if (!dialect.outbox.statement.empty())
        statement = c.unit(dialect.outbox.statement, Queue::outbox);
    receive = c.unit(dialect.inbox.receive, Queue::inbox);
    receive_many = c.unit(dialect.inbox.receive_many, Queue::inbox);
    see = c.unit(dialect.inbox.see, Queue::inbox);
    mark = c.unit(dialect.inbox.mark, Queue::inbox);
    paused_topics = c.unit(dialect.pause.list, Queue::outbox);
    pause_topic = c.unit(dialect.pause.pause, Queue::outbox);
    resume_topic = c.unit(dialect.pause.resume, Queue::outbox);
    for (ExamText exam : dialect.exams) {
        exam.text = c.text(exam.text, Queue::outbox);
        exams.push_back(std::move(exam));
    }
    now = c.unit(dialect.now, Queue::outbox);
}

}  // namespace postroom::sql
