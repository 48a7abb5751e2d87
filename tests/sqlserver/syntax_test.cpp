// Every statement and every routine passes a parser of T-SQL: sqlfluff, which Debian has.
//
// It knows most of the language and none of its meaning. Where it cannot read a few words although
// servers do, it is shown others in their place, so that it reads the rest of the text; how many
// texts that concerns is counted. Whether a text has run on a server is another matter:
// docs/reference/sqlserver.md tells which are newer than the last run on one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <regex>

#include <fmt/format.h>

#include "backends/sqlserver/dialect.hpp"
#include "backends/sqlserver/script.hpp"
#include "postroom/backend/sqlserver.hpp"
#include "queue/query_texts.hpp"
#include "queue/sql_access.hpp"
#include "sql/compiled.hpp"
#include "sql/expander.hpp"
#include "sql/search.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlserver {
namespace {

using namespace std::chrono_literals;
using test::ChildProcess;
using test::TempDir;

// What sqlfluff 1.4.5 stumbles over.
struct Shape {
    const char* pattern;
    const char* stand_in;  // what it reads instead
    std::size_t texts;     // so many of ours have it
};
constexpr std::array beyond_the_parser{
    // A computed column.
    Shape{R"( AS \w+\([\w, ]+\) PERSISTED)", " INT NULL", 2},
    // A setting of a table.
    Shape{R"(ALTER TABLE \S+ SET \(LOCK_ESCALATION = DISABLE\);)", "", 2},
    // A constraint for rows that come later.
    Shape{R"( WITH NOCHECK)", "", 1},
    // A text that is run.
    Shape{R"( EXEC\(N'CREATE[^']*'\))", " SELECT 1", 1},
    // Bytes, none of them.
    Shape{R"(\b0x,)", "@bytes,", 2},
    // OPENJSON with a list of columns.
    Shape{R"(\) WITH \(nonce [^;]*? AS p)", ") AS p", 1},
    // A variable with a sign.
    Shape{R"(-@(\w+_us))", "0 - @$1", 2},
};

// Restricted in every text that there is.
Query query_of(const std::string& text) {
    Query query;
    visit_texts(query,
                [&text](std::string_view, std::optional<std::string>& value) { value = text; });
    return query;
}

// All conditions that a search can have, apart from each other where they differ in their words.
std::vector<Query> every_query() {
    Query much = query_of("x");
    much.ids = {WorkItemId(1, 2)};
    much.owner = OwnerToken::generate();
    much.state = StateSet{State::ready, State::dead};
    much.failed = true;
    much.error_part = "x";
    much.created_from = Instant{};
    much.created_before = Instant{};
    much.before_seq = 9;
    much.newest_first = true;
    Query blocking = query_of("");
    blocking.blocking = true;
    blocking.payloads = false;
    return {much, blocking, {.put_off = true, .payloads = false}};
}

class SqlServerSyntax : public testing::Test {
protected:
    // One file for each text; known to the test by its name.
    void add(std::string text) {
        for (std::size_t i = 0; i < beyond_the_parser.size(); ++i) {
            const std::regex pattern(beyond_the_parser[i].pattern);
            if (!std::regex_search(text, pattern)) continue;
            text = std::regex_replace(text, pattern, beyond_the_parser[i].stand_in);
            ++replaced_[i];
        }
        const std::string name = fmt::format("{:03}.sql", texts_.size());
        std::ofstream(folder_.path() / name) << text << "\n";
        texts_.emplace(name, text);
    }

    // Statements bind their values by question marks, which are no T-SQL.
    void add_bound(std::string text) {
        for (std::size_t at = text.find('?'); at != std::string::npos; at = text.find('?'))
            text.replace(at, 1, "@p");
        add(std::move(text));
    }

    void add(const sql::Unit& unit) {
        for (const sql::Statement& statement : unit.statements) add_bound(statement.sql);
    }

    void add_queue(const sql::QueueUnits& queue) {
        for (const sql::Unit& unit :
             {queue.claim,         queue.held,         queue.retry,         queue.fail,
              queue.extend,        queue.reap,         queue.redrive,       queue.retry_now,
              queue.attempts,      queue.hold,         queue.purge,         queue.counts,
              queue.claimable_in,  queue.keyed,        queue.ack.group,     queue.ack.rows,
              queue.ack.run.plain, queue.ack.run.kept, queue.ack.one.plain, queue.ack.one.kept})
            add(unit);
    }

    // The statements that a search is put together from, as the store does it.
    void add_searches(const sql::Dialect& dialect, const sql::QueueUnits& queue) {
        const sql::SearchWords words_of_search{.in_array = dialect.in_array,
                                               .contains = dialect.contains,
                                               .equals = dialect.equals,
                                               .empty = dialect.empty,
                                               .blocking = queue.blocking,
                                               .paged = dialect.paged};
        const auto add_search = [&](const std::string& text) {
            add_bound(sql::Statement::compile(text, dialect.placeholder).sql);
        };
        for (const Query& query : every_query()) {
            const sql::Search search(query, words_of_search);
            add_search(search.rows_text(queue.find));
            add_search(search.count_text(queue.find));
            for (const sql::NumbersText& numbers : queue.numbers)
                add_search(search.numbers_text(numbers.source));
        }
    }

    // What the doctor asks, and what a deployment asks the catalog.
    void add_questions(const sql::Dialect& dialect, const sql::CompiledDialect& units) {
        for (const sql::HealthCheckText& check : units.health_checks) {
            if (!check.before.empty()) add(check.before);
            add(check.text);
        }
        const sql::Names names(OpenOptions{});
        const sql::Expander expander(dialect.vocabulary, names, Queue::outbox);
        add(expander.expand(dialect.migration_lock));
        add(expander.expand(dialect.catalog));
        add(expander.expand("INSERT INTO {schema}.[postroom_object] (object, definition)\n" +
                            dialect.catalog));
    }

    // Statements over tables that are not ours.
    void add_foreign(const SqlWords& spelling) {
        add_bound(spelling.version().sql);
        add_bound(spelling.columns("shop", "orders").sql);
        for (const char* const type : {"varbinary", "nvarchar"}) {
            const SqlColumn column = spelling.column(spelling.quoted("payload"), type);
            for (const SqlSelect::Lock lock :
                 {SqlSelect::Lock::none, SqlSelect::Lock::skip, SqlSelect::Lock::wait})
                add_bound(
                    spelling.select({.what = fmt::format("{}, {}, {}", column.hex,
                                                         column.byte_count, column.microseconds),
                                     .from = spelling.quoted("shop", "orders"),
                                     .where = column.word + " = " + spelling.parameter(1),
                                     .order = column.name,
                                     .rows = 10,
                                     .lock = lock}));
        }
    }

    // Those that the parser refuses.
    std::vector<std::string> refused() {
        std::vector<std::string> arguments{"sqlfluff", "lint",    "--dialect",
                                           "tsql",     "--rules", "L001"};
        for (const auto& [name, text] : texts_)
            arguments.push_back((folder_.path() / name).string());
        ChildProcess parser(
            {.program = "/usr/bin/env", .arguments = arguments, .merge_stderr = true});
        const std::string said = parser.read_all(20min);
        EXPECT_TRUE(parser.wait(60s).has_value()) << said;
        std::vector<std::string> out;
        for (const auto& [name, text] : texts_)
            if (said.find(name + "] FAIL") != std::string::npos &&
                said.find("PRS") != std::string::npos)
                out.push_back(text);
        if (said.find("sqlfluff") == std::string::npos) return out;
        ADD_FAILURE() << said;  // it is not there, or complains about itself
        return out;
    }

    TempDir folder_;
    std::map<std::string, std::string> texts_;
    std::array<std::size_t, beyond_the_parser.size()> replaced_{};  // texts, by shape
};

TEST_F(SqlServerSyntax, EveryStatementAndRoutineIsTSql) {
    for (const std::string& batch :
         split_script(open_schema("sqlserver://nobody@localhost/nowhere")->script()))
        add(batch);
    const sql::Dialect dialect = make_dialect();
    const sql::CompiledDialect units(dialect, sql::Names(OpenOptions{}));
    for (const sql::QueueUnits& queue : {units.outbox_queue, units.inbox_queue}) {
        add_queue(queue);
        add_searches(dialect, queue);
    }
    for (const sql::InsertUnits& insert : {units.insert, units.bare, units.bare_born}) {
        add(insert.one);
        add(insert.many);
    }
    for (const sql::Unit& unit :
         {units.insert_packed, units.enqueue, units.as_writer, units.find_key, units.statement,
          units.receive, units.receive_many, units.see, units.mark, units.paused_topics,
          units.pause_topic, units.resume_topic, units.report_worker, units.come_to_rest,
          units.forget_worker, units.workers, units.record_audit, units.audit_log, units.now})
        add(unit);
    for (const sql::Unit& unit : {units.restore.look, units.restore.adopt, units.restore.raise,
                                  units.restore.hold, units.restore.end_hold})
        add(unit);
    add_questions(dialect, units);
    add_foreign(*dialect.words);
    EXPECT_GT(texts_.size(), 330U);
    for (std::size_t i = 0; i < beyond_the_parser.size(); ++i)
        EXPECT_EQ(replaced_[i], beyond_the_parser[i].texts) << beyond_the_parser[i].pattern;
    EXPECT_THAT(refused(), testing::IsEmpty());
}

TEST_F(SqlServerSyntax, TheParserRefusesWhatIsNone) {
    add("SELECT TOP (@room m.seq FROM t AS m");
    add("UPDATE t SET a = 1 WHERE seq IN (SELECT seq FROM");
    add("CREATE PROCEDURE p @a INT AS BEGIN SET NOCOUNT ON SELEC 1; END");
    EXPECT_EQ(refused().size(), 3U);
}

}  // namespace
}  // namespace postroom::sqlserver
