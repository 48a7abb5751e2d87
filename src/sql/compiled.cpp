#include "sql/compiled.hpp"

namespace postroom::sql {

namespace {

class Compiler {
public:
    Compiler(const Dialect& dialect, const Names& names)
        : dialect_(dialect),
          outbox_(dialect.vocabulary, names, Queue::outbox),
          inbox_(dialect.vocabulary, names, Queue::inbox) {}

    std::string text(const std::string& text, Queue queue) const {
        return (queue == Queue::outbox ? outbox_ : inbox_).expand(text);
    }

    std::vector<FindText> texts(std::vector<FindText> parts, Queue queue) const {
        for (FindText& part : parts) part.text = text(part.text, queue);
        return parts;
    }

    Unit unit(const UnitText& source, Queue queue) const {
        Unit out{.statements = {}, .separate = source.separate};
        for (const std::string& statement : source.statements) {
            Statement& compiled = out.statements.emplace_back(Statement::compile(
                text(statement, queue), dialect_.placeholder, text(source.row, queue)));
            compiled.traits = source.traits;
        }
        for (std::size_t i = 0; i < source.skips.size(); ++i)
            out.statements[i].skip = source.skips[i];
        return out;
    }

    // Of one statement.
    Unit unit(const std::string& source, Queue queue) const {
        return unit(UnitText{.statements = {source}}, queue);
    }

    // A verb that changes nothing.
    template <class Source>
    Unit reading(const Source& source, Queue queue) const {
        Unit out = unit(source, queue);
        for (Statement& statement : out.statements) statement.traits.reads_only = true;
        return out;
    }

    InsertUnits insert(const InsertTexts& t) const {
        return {.one = unit(t.one, Queue::outbox), .many = unit(t.many, Queue::outbox)};
    }

    SearchTexts find(const std::vector<FindText>& sources, Queue q) const {
        const SearchTexts raw = search_texts(sources, dialect_.payload_bytes);
        return {.rows = texts(raw.rows, q),
                .rows_without_payload = texts(raw.rows_without_payload, q),
                .counts = texts(raw.counts, q)};
    }

    std::vector<NumbersText> numbers(std::vector<NumbersText> sources, Queue q) const {
        for (NumbersText& part : sources) part.source.text = text(part.source.text, q);
        return sources;
    }

    RestoreUnits restore(const RestoreTexts& t) const {
        return {.look = reading("SELECT " + t.here + ", " + t.look + " WHERE " + t.can_write,
                                Queue::outbox),
                .adopt = unit(t.adopt, Queue::outbox),
                .raise = unit(t.raise, Queue::outbox),
                .hold = unit(t.hold, Queue::outbox),
                .end_hold = unit(t.end_hold, Queue::outbox)};
    }

    AckUnits acks(const AckTexts& t, Queue q) const {
        const auto way = [&](const AckTexts::Way& w) {
            return AckUnits::Way{.plain = unit(w.plain, q), .kept = unit(w.kept, q)};
        };
        return {.group = unit(t.group, q),
                .rows = unit(t.rows, q),
                .run = way(t.run),
                .one = way(t.one)};
    }

    QueueUnits queue(const QueueTexts& t, Queue q) const {
        return {.claim = unit(t.claim, q),
                .held = reading(t.held, q),
                .retry = unit(t.retry, q),
                .fail = unit(t.fail, q),
                .extend = unit(t.extend, q),
                .reap = unit(t.reap, q),
                .redrive = unit(t.redrive, q),
                .retry_now = unit(t.retry_now, q),
                .hold = unit(t.hold, q),
                .purge = unit(t.purge, q),
                .counts = reading(t.counts, q),
                .claimable_in = unit(t.claimable_in, q),
                .attempts = reading(t.attempts, q),
                .ack = acks(t.ack, q),
                .find = find(t.find, q),
                .numbers = numbers(t.numbers, q),
                .blocking = text(t.blocking, q),
                .blocking_of_key = text(t.blocking_of_key, q)};
    }

private:
    const Dialect& dialect_;
    const Expander outbox_;
    const Expander inbox_;
};

}  // namespace

CompiledDialect::CompiledDialect(const Dialect& dialect, const Names& names) {
    const Compiler c(dialect, names);
    outbox_queue = c.queue(dialect.outbox_queue, Queue::outbox);
    outbox_queue.attempts = c.reading(
        UnitText{.statements = {dialect.outbox_queue.attempts, dialect.outbox.done_attempts}},
        Queue::outbox);
    outbox_queue.keyed = c.reading(dialect.outbox.keyed, Queue::outbox);
    inbox_queue = c.queue(dialect.inbox_queue, Queue::inbox);
    inbox_queue.keyed = c.reading(dialect.inbox.keyed, Queue::inbox);
    insert = c.insert({dialect.outbox.insert, dialect.outbox.insert_many});
    insert_packed = c.unit(dialect.outbox.insert_packed, Queue::outbox);
    bare = c.insert(dialect.outbox.bare);
    bare_born = c.insert(dialect.outbox.bare_born);
    enqueue = c.unit(dialect.outbox.enqueue, Queue::outbox);
    as_writer = c.unit(dialect.outbox.as_writer, Queue::outbox);
    find_key = c.reading(dialect.outbox.find_key, Queue::outbox);
    statement = c.unit(dialect.outbox.statement, Queue::outbox);
    receive = c.unit(dialect.inbox.receive, Queue::inbox);
    receive_many = c.unit(dialect.inbox.receive_many, Queue::inbox);
    see = c.unit(dialect.inbox.see, Queue::inbox);
    mark = c.unit(dialect.inbox.mark, Queue::inbox);
    paused_topics = c.reading(dialect.pause.list, Queue::outbox);
    pause_topic = c.unit(dialect.pause.pause, Queue::outbox);
    resume_topic = c.unit(dialect.pause.resume, Queue::outbox);
    const RecordTexts& records = dialect.records;
    report_worker = c.unit(UnitText{.statements = {records.forget_silent, records.forget_worker,
                                                   records.report_worker}},
                           Queue::outbox);
    come_to_rest = c.unit(records.come_to_rest, Queue::outbox);
    forget_worker = c.unit(records.forget_worker, Queue::outbox);
    workers = c.reading(records.workers, Queue::outbox);
    record_audit = c.unit(records.record_audit, Queue::outbox);
    audit_log = c.reading(dialect.paged({records.audit_log}, "id DESC"), Queue::outbox);
    restore = c.restore(dialect.restore);
    for (HealthCheckText check : dialect.health_checks) {
        check.text = c.text(check.text, Queue::outbox);
        health_checks.push_back(std::move(check));
    }
    now = c.reading(dialect.now, Queue::outbox);
}

}  // namespace postroom::sql
