#include "sql/migrator.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "postroom/error.hpp"

namespace postroom::sql {

namespace {

std::string checksum_of(const std::string& text) { return base::hex_encode(base::sha256(text)); }

std::vector<Queue> queues_of(std::string_view migration_name) {
    if (migration_name.starts_with("queue")) return {Queue::outbox, Queue::inbox};
    if (migration_name.starts_with("inbox")) return {Queue::inbox};
    return {Queue::outbox};
}

int number_from(const std::string& text) {
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

bool runs_for(std::string_view name, Queue queue) {
    const std::vector<Queue> queues = queues_of(name);
    return std::find(queues.begin(), queues.end(), queue) != queues.end();
}

}  // namespace

Migrator::Migrator(const Backend& backend, const OpenOptions& options)
    : backend_(backend), names_(options) {}

std::string Migrator::table(std::string_view name) const {
    return backend_.dialect.vocabulary.qualify(names_.schema, name);
}

std::string Migrator::expand_schema(const std::string& text) const {
    return Expander(backend_.dialect.vocabulary, names_, Queue::outbox).expand(text);
}

std::vector<Migrator::Step> Migrator::steps() const {
    std::vector<Step> out = schema_steps();
    if (backend_.dialect.routines.empty()) return out;
    for (const Queue queue : {Queue::outbox, Queue::inbox}) out.push_back(routine_step(queue));
    return out;
}

std::vector<Migrator::Step> Migrator::schema_steps() const {
    std::vector<Step> out;
    for (const EmbeddedMigration& file : backend_.dialect.schema) {
        for (const Queue queue : queues_of(file.name)) {
            const Expander expander(backend_.dialect.vocabulary, names_, queue);
            Step step{.number = file.number,
                      .name = fmt::format("{:04}_{} ({})", file.number, file.name,
                                          names_.of(queue).str()),
                      .text = expander.expand(file.text),
                      .checksum = {}};
            step.checksum = checksum_of(step.text);
            out.push_back(std::move(step));
        }
    }
    return out;
}

Migrator::Step Migrator::routine_step(Queue queue) const {
    const Dialect& dialect = backend_.dialect;
    const Expander expander(dialect.vocabulary, names_, queue);
    Step step{.number = dialect.schema.empty() ? 0 : dialect.schema.back().number,
              .name = fmt::format("routines ({})", names_.of(queue).str()),
              .text = expander.expand(dialect.before_routines),
              .checksum = {},
              .repeats = true};
    for (const EmbeddedRoutines& file : dialect.routines) {
        if (runs_for(file.name, queue)) step.text += "\n" + expander.expand(file.text);
    }
    step.text += "\n" + expander.expand(dialect.after_routines);
    step.checksum = checksum_of(step.text);
    return step;
}

bool Migrator::is_pending(const Step& step, const AppliedSteps& done) {
    const auto found = done.find(step.name);
    if (found == done.end()) return true;
    if (!step.repeats) return false;
    // With the same text again too, for the sake of the number that is noted with it.
    return found->second.number < step.number ||
           (found->second.number == step.number && found->second.checksum != step.checksum);
}

Migrator::Objects Migrator::query_pairs(Connection& connection, const std::string& text) const {
    Objects out;
    for (const auto& row : connection.execute({.sql = text, .params = {}})) {
        out.emplace(row.at(0).value_or(""), row.at(1).value_or(""));
    }
    return out;
}

Migrator::AppliedSteps Migrator::applied(Connection& connection) const {
    AppliedSteps out;
    const std::string text =
        fmt::format("SELECT name, number, checksum FROM {}", table("postroom_migration"));
    for (const auto& row : connection.execute({.sql = text, .params = {}})) {
        out.emplace(row.at(0).value_or(""), Applied{.number = number_from(row.at(1).value_or("0")),
                                                    .checksum = row.at(2).value_or("")});
    }
    return out;
}

Migrator::Objects Migrator::catalog(Connection& connection) const {
    return query_pairs(connection, expand_schema(backend_.dialect.catalog));
}

Migrator::Objects Migrator::recorded(Connection& connection) const {
    return query_pairs(connection,
                       fmt::format("SELECT object, definition FROM {}", table("postroom_object")));
}

void Migrator::deploy() {
    const std::unique_ptr<Connection> connection = backend_.connect();
    connection->begin();
    try {
        if (!backend_.dialect.migration_lock.empty()) {
            const SqlRows locked = connection->execute(
                {.sql = expand_schema(backend_.dialect.migration_lock), .params = {}});
            if (!locked.empty() && locked.front().front() == "0")
                throw Error(ErrorKind::conflict,
                            fmt::format("{}: another deployment is under way", backend_.peer));
        }
        connection->execute_script(expand_schema(backend_.dialect.migration_table));
        apply_pending(*connection);
        connection->commit();
    } catch (...) {
        if (connection->healthy() && connection->in_transaction()) connection->rollback();
        throw;
    }
}

// Names and checksums are ours: letters, digits, underscores, parentheses, blanks.
std::string Migrator::note_of(const Step& step) const {
    return fmt::format(
        "DELETE FROM {0} WHERE name = '{2}';\n"
        "INSERT INTO {0} (number, name, checksum) VALUES ({1}, '{2}', '{3}');",
        table("postroom_migration"), step.number, step.name, step.checksum);
}

void Migrator::apply_pending(Connection& connection) const {
    const AppliedSteps done = applied(connection);
    std::vector<Step> pending = steps();
    std::erase_if(pending, [&](const Step& step) { return !is_pending(step, done); });
    for (const Step& step : pending) {
        try {
            connection.execute_script(step.text);
        } catch (const Error& error) {
            throw Error(error.kind(), fmt::format("{}: migration {}: {}", backend_.peer, step.name,
                                                  error.what()));
        }
        // Not every engine does all this in one transaction. Whoever is cut off before the objects
        // are recorded has a step to repeat, and records them then.
        if (&step == &pending.back()) record(connection);
        connection.execute_script(note_of(step));
    }
}

void Migrator::record(Connection& connection) const {
    connection.execute_script(fmt::format("DELETE FROM {}", table("postroom_object")));
    connection.execute_script(fmt::format("INSERT INTO {} (object, definition)\n{}",
                                          table("postroom_object"),
                                          expand_schema(backend_.dialect.catalog)));
}

SchemaReport Migrator::report() {
    const std::unique_ptr<Connection> connection = backend_.connect();
    SchemaReport report;
    AppliedSteps done;
    Objects expected;
    try {
        done = applied(*connection);
        expected = recorded(*connection);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::rejected) throw;
        // No migration table: nothing was ever deployed here.
    }
    int newest = 0;
    for (const Step& step : steps()) {
        newest = std::max(newest, step.number);
        const auto found = done.find(step.name);
        if (is_pending(step, done)) {
            (found == done.end() ? report.pending : report.outdated).push_back(step.name);
        } else if (!step.repeats && found->second.checksum != step.checksum) {
            report.drift.push_back(
                fmt::format("migration {} was applied with another text", step.name));
        }
    }
    for (const auto& [name, step] : done) report.version = std::max(report.version, step.number);
    report.newer = report.version > newest;

    const Objects actual = expected.empty() ? Objects{} : catalog(*connection);
    for (const auto& [object, definition] : expected) {
        const auto found = actual.find(object);
        if (found == actual.end()) {
            report.drift.push_back(object + " is missing");
        } else if (found->second != definition) {
            report.drift.push_back(object + " was changed");
        }
    }
    return report;
}

std::string Migrator::script() const {
    std::string out = expand_schema(backend_.dialect.migration_table) + "\n";
    for (const Step& step : steps()) {
        out += fmt::format("\n-- {}\n{}\n{}\n", step.name, step.text, note_of(step));
    }
    return out;
}

std::unique_ptr<Schema> make_schema(Backend backend, const OpenOptions& options) {
    return std::make_unique<Migrator>(backend, options);
}

}  // namespace postroom::sql
