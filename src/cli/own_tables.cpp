#include "cli/own_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/text.hpp"
#include "postroom/error.hpp"

namespace postroom::cli {

namespace {

struct Object {
    std::string kind;
    std::string name;  // as SQL writes it
};

std::string upper(std::string word) {
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::toupper(c); });
    return word;
}

// Of a line "CREATE [OR REPLACE] kind [IF NOT EXISTS] name"; nothing for other lines.
std::optional<Object> created_by(const std::string& line) {
    static const std::set<std::string> kinds{"TABLE", "VIEW", "PROCEDURE", "FUNCTION"};
    static const std::set<std::string> fillers{"OR", "REPLACE", "/*M!",  "*/",
                                               "IF", "NOT",     "EXISTS"};
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != "CREATE") return std::nullopt;
    Object object;
    while (words >> word) {
        if (fillers.contains(word)) continue;
        if (!object.kind.empty()) {
            object.name = word.substr(0, word.find('('));
            return object;
        }
        object.kind = upper(word);
        if (!kinds.contains(object.kind)) return std::nullopt;
    }
    return std::nullopt;
}

// What a deployment creates and does not go with a table, in that order.
std::vector<Object> objects_of(const std::string& script, const std::string& name) {
    std::vector<Object> objects;
    std::istringstream lines(script);
    for (std::string line; std::getline(lines, line);) {
        std::optional<Object> object = created_by(line);
        if (object && object->name.find(name) != std::string::npos)
            objects.push_back(*std::move(object));
    }
    return objects;
}

std::string quoted(const std::string& name) { return fmt::format("\"{}\"", name); }

// Everything then lies in the schema, the record of migrations too.
bool has_schema(const std::string& script, const std::string& name) {
    return script.find("CREATE SCHEMA " + quoted(name)) != std::string::npos;
}

// How SQL writes a table that is none of the queues'.
std::string added_name(const std::string& script, const std::string& name,
                       const std::string& table) {
    return fmt::format("{}{}_{}", has_schema(script, name) ? quoted(name) + "." : "", name, table);
}

// Where a change of the schema cannot be rolled back, it has ended its transaction.
void run(Store& store, const std::string& sql) {
    const std::unique_ptr<Transaction> tx = store.begin();
    tx->execute({.sql = sql});
    if (tx->in_transaction()) tx->commit();
}

bool succeeds(Store& store, const std::string& sql) {
    try {
        run(store, sql);
        return true;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::rejected) throw;
        return false;
    }
}

bool is_there(Store& store, const std::string& script, const std::string& name) {
    const std::vector<Object> objects = objects_of(script, name);
    return std::ranges::any_of(objects, [&](const Object& object) {
        return (object.kind == "TABLE" || object.kind == "VIEW") &&
               succeeds(store, fmt::format("SELECT 1 FROM {} WHERE 1 = 0", object.name));
    });
}

// The record of migrations may be one with queues of the user's.
void remove_record(Store& store, const std::string& name) {
    if (!succeeds(store, "SELECT 1 FROM postroom_migration WHERE 1 = 0")) return;
    const std::unique_ptr<Transaction> tx = store.begin();
    tx->execute(
        {.sql = fmt::format("DELETE FROM postroom_migration WHERE name LIKE '%({}_%'", name)});
    tx->execute(
        {.sql = fmt::format("DELETE FROM postroom_object WHERE object LIKE '%{}_%'", name)});
    const bool was_all = tx->execute({.sql = "SELECT name FROM postroom_migration"}).empty();
    tx->commit();
    if (!was_all) return;
    for (const char* table : {"postroom_object", "postroom_migration"})
        succeeds(store, fmt::format("DROP TABLE {}", table));
}

void remove(const std::string& url, const OpenOptions& options, const std::string& script,
            const std::vector<std::string>& added) {
    const std::string& name = options.schema;
    const std::unique_ptr<Store> store = open_store(url, options);
    if (has_schema(script, name)) {
        run(*store, fmt::format("DROP SCHEMA IF EXISTS {} CASCADE", quoted(name)));
        return;
    }
    for (const std::string& table : added)
        run(*store, fmt::format("DROP TABLE IF EXISTS {}", added_name(script, name, table)));
    std::vector<Object> objects = objects_of(script, name);
    std::ranges::reverse(objects);
    for (const Object& object : objects)
        run(*store, fmt::format("DROP {} IF EXISTS {}", object.kind, object.name));
    remove_record(*store, name);
}

}  // namespace

OpenOptions OwnTables::named(OpenOptions options, const std::string& of) {
    options.schema = fmt::format("postroom_{}", of);
    options.outbox_table = fmt::format("{}_outbox", options.schema);
    options.inbox_table = fmt::format("{}_inbox", options.schema);
    options.deploy_schema = false;
    return options;
}

OwnTables::OwnTables(std::string of, std::string url, OpenOptions options, const OpenSchema& open)
    : of_(std::move(of)),
      url_(std::move(url)),
      options_(std::move(options)),
      script_(open()->script()) {
    const std::string& name = options_.schema;
    const std::unique_ptr<Schema> schema = open();
    const SchemaReport report =
        schema->report();  // the first to connect: it knows the store's name
    const std::unique_ptr<Store> store = open_store(url_, options_);
    if (!report.drift.empty()) {
        throw Failure(ExitCode::schema,
                      fmt::format("store '{}': objects were changed by hand, and the {} would "
                                  "record them as they are; see 'postroom doctor' first",
                                  printable(options_.store_id), of_));
    }
    if (has_schema(script_, name) ? !succeeds(*store, "CREATE SCHEMA " + quoted(name))
                                  : is_there(*store, script_, name)) {
        throw Failure(ExitCode::failed,
                      fmt::format("store '{}': there is something named {} already, or it may not "
                                  "be created; if an earlier {} was killed, 'postroom {} "
                                  "--clean' removes what it left",
                                  printable(options_.store_id), name, of_, of_));
    }
    try {
        schema->deploy();
    } catch (const std::exception& error) {
        remove(url_, options_, script_, {});
        throw Failure(ExitCode::failed, fmt::format("the tables of the {} cannot be created, and "
                                                    "none are left: {}",
                                                    of_, error.what()));
    }
}

OwnTables::~OwnTables() {
    try {
        remove(url_, options_, script_, added_);
    } catch (const std::exception& error) {
        complain(
            fmt::format("the tables of the {} are still there, 'postroom {} --clean' "
                        "removes them: {}",
                        of_, of_, error.what()));
    }
}

std::unique_ptr<Store> OwnTables::open() const { return open_store(url_, options_); }

std::string OwnTables::add(const std::string& table, const std::string& columns) {
    const std::string name = added_name(script_, options_.schema, table);
    run(*open(), fmt::format("CREATE TABLE {} ({})", name, columns));
    added_.push_back(table);
    return name;
}

void OwnTables::clean(const std::string& url, const OpenOptions& options, const OpenSchema& open,
                      const std::vector<std::string>& added) {
    const std::unique_ptr<Schema> schema = open();
    (void)schema->report();
    remove(url, options, schema->script(), added);
}

std::string own_tables_plan(const Invocation& in, const daemon::StorePlan& plan) {
    const std::string what = in.has("clean") ? "remove" : "create, fill and remove";
    if (in.json()) {
        return JsonObject()
                   .add("store", plan.name)
                   .add("tables", plan.options.schema)
                   .add("would", what)
                   .add("dry_run", true)
                   .text() +
               "\n";
    }
    return fmt::format("would {} tables named {}... in store '{}'\n", what, plan.options.schema,
                       printable(plan.name));
}

}  // namespace postroom::cli
