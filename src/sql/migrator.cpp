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

int number_of(const std::string& step_name) {
    int number = 0;
    std::from_chars(step_name.data(), step_name.data() + step_name.size(), number);
    return number;
}

}  // namespace

Migrator::Migrator(const Backend& backend, const OpenOptions& options)
    : backend_(backend), names_(options) {}

std::string Migrator::table(std::string_view name) const {
    return backend_.dialect.qualify(names_.schema, name);
}

std::string Migrator::expand_schema(const std::string& text) const {
    return expand(text, names_, Queue::outbox, backend_.dialect.qualify);
}

std::vector<Migrator::Step> Migrator::steps() const {
    std::vector<Step> out;
    for (const EmbeddedMigration& migration : backend_.dialect.migrations) {
        for (const Queue queue : queues_of(migration.name)) {
            Step step{.number = migration.number,
                      .name = fmt::format("{:04}_{} ({})", migration.number, migration.name,
                                          names_.of(queue).str()),
                      .text = expand(migration.text, names_, queue, backend_.dialect.qualify),
                      .checksum = {}};
            step.checksum = checksum_of(step.text);
            out.push_back(std::move(step));
        }
    }
    return out;
}

Migrator::Objects Migrator::query_pairs(Connection& connection, const std::string& text) const {
    Objects out;
    for (const auto& row : connection.execute({.sql = text, .params = {}})) {
        out.emplace(row.at(0).value_or(""), row.at(1).value_or(""));
    }
    return out;
}

std::map<std::string, std::string> Migrator::applied(Connection& connection) const {
    return query_pairs(connection,
                       fmt::format("SELECT name, checksum FROM {}", table("postroom_migration")));
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
    return fmt::format("INSERT INTO {} (number, name, checksum) VALUES ({}, '{}', '{}');",
                       table("postroom_migration"), step.number, step.name, step.checksum);
}

void Migrator::apply_pending(Connection& connection) const {
    const auto done = applied(connection);
    std::vector<Step> pending = steps();
    std::erase_if(pending, [&](const Step& step) { return done.contains(step.name); });
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
    std::map<std::string, std::string> done;
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
        if (found == done.end()) {
            report.pending.push_back(step.name);
        } else if (found->second != step.checksum) {
            report.drift.push_back(
                fmt::format("migration {} was applied with another text", step.name));
        }
    }
    for (const auto& [name, checksum] : done)
        report.version = std::max(report.version, number_of(name));
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
