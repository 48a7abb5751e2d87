#include "cli/bench/bench_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "cli/failure.hpp"
#include "cli/output/text.hpp"
#include "postroom/error.hpp"

namespace postroom::cli {

namespace {

constexpr std::string_view name = "postroom_bench";

struct Object {
    std::string kind;
    std::string name;  // as SQL writes it
};

// What the migrations create and does not go with a table, in that order.
std::vector<Object> objects_of(const std::string& script) {
    std::vector<Object> objects;
    std::istringstream lines(script);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        if (!(words >> word) || word != "CREATE") continue;
        Object object;
        words >> object.kind;
        if (object.kind == "OR") words >> word >> object.kind;  // OR REPLACE
        words >> object.name;
        if (object.name == "IF") words >> word >> word >> object.name;  // IF NOT EXISTS
        object.name = object.name.substr(0, object.name.find('('));
        const bool ours = object.name.find(name) != std::string::npos;
        if (ours && (object.kind == "TABLE" || object.kind == "VIEW" ||
                     object.kind == "PROCEDURE" || object.kind == "FUNCTION"))
            objects.push_back(std::move(object));
    }
    return objects;
}

std::string schema_name() { return fmt::format("\"{}\"", name); }

// Everything then lies in the schema, the record of migrations too.
bool has_schema(const std::string& script) {
    return script.find("CREATE SCHEMA " + schema_name()) != std::string::npos;
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

bool is_there(Store& store, const std::string& script) {
    const std::vector<Object> objects = objects_of(script);
    return std::ranges::any_of(objects, [&](const Object& object) {
        return (object.kind == "TABLE" || object.kind == "VIEW") &&
               succeeds(store, fmt::format("SELECT 1 FROM {} WHERE 1 = 0", object.name));
    });
}

// The record of migrations may be one with queues of the user's.
void remove_record(Store& store) {
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

void remove(const std::string& url, const OpenOptions& options, const std::string& script) {
    const std::unique_ptr<Store> store = open_store(url, options);
    if (has_schema(script)) {
        run(*store, fmt::format("DROP SCHEMA IF EXISTS {} CASCADE", schema_name()));
        return;
    }
    std::vector<Object> objects = objects_of(script);
    std::ranges::reverse(objects);
    for (const Object& object : objects)
        run(*store, fmt::format("DROP {} IF EXISTS {}", object.kind, object.name));
    remove_record(*store);
}

}  // namespace

OpenOptions BenchTables::named(OpenOptions options) {
    options.schema = name;
    options.outbox_table = fmt::format("{}_outbox", name);
    options.inbox_table = fmt::format("{}_inbox", name);
    options.deploy_schema = false;
    return options;
}

BenchTables::BenchTables(std::string url, OpenOptions options, const OpenSchema& open)
    : url_(std::move(url)), options_(std::move(options)), script_(open()->script()) {
    const std::unique_ptr<Schema> schema = open();
    const SchemaReport report =
        schema->report();  // the first to connect: it knows the store's name
    const std::unique_ptr<Store> store = open_store(url_, options_);
    if (!report.drift.empty()) {
        throw Failure(ExitCode::schema,
                      fmt::format("store '{}': objects were changed by hand, and the bench would "
                                  "record them as they are; see 'postroom doctor' first",
                                  printable(options_.store_id)));
    }
    if (has_schema(script_) ? !succeeds(*store, "CREATE SCHEMA " + schema_name())
                            : is_there(*store, script_)) {
        throw Failure(ExitCode::failed,
                      fmt::format("store '{}': there is something named {} already, or it may not "
                                  "be created; if an earlier bench was killed, 'postroom bench "
                                  "--clean' removes what it left",
                                  printable(options_.store_id), name));
    }
    try {
        schema->deploy();
    } catch (const std::exception& error) {
        remove(url_, options_, script_);
        throw Failure(ExitCode::failed,
                      fmt::format("the tables of the bench cannot be created, and "
                                  "none are left: {}",
                                  error.what()));
    }
}

BenchTables::~BenchTables() {
    try {
        remove(url_, options_, script_);
    } catch (const std::exception& error) {
        complain(
            fmt::format("the tables of the bench are still there, 'postroom bench --clean' "
                        "removes them: {}",
                        error.what()));
    }
}

std::unique_ptr<Store> BenchTables::open() const { return open_store(url_, options_); }

void BenchTables::clean(const std::string& url, const OpenOptions& options,
                        const OpenSchema& open) {
    const std::unique_ptr<Schema> schema = open();
    (void)schema->report();
    remove(url, options, schema->script());
}

}  // namespace postroom::cli
