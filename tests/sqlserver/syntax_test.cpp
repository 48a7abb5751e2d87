// Every statement and every routine passes a parser of T-SQL: sqlfluff, which Debian has.
//
// It knows most of the language and none of its meaning. What it cannot read although servers do is
// listed, with the reason; each of those ran on a server that speaks T-SQL
// (docs/reference/sqlserver.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include <fmt/format.h>

#include "backends/sqlserver/dialect.hpp"
#include "backends/sqlserver/script.hpp"
#include "postroom/backend/sqlserver.hpp"
#include "sql/compiled.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlserver {
namespace {

using namespace std::chrono_literals;
using test::ChildProcess;
using test::TempDir;

// What a text that sqlfluff 1.4.5 stumbles over has in it.
constexpr std::array beyond_the_parser{
    " PERSISTED",      // a computed column
    " EXEC(N'CREATE",  // a text that is run
    "0x,",             // bytes, none of them
    "0x AS",           //
    ") WITH (nonce",   // OPENJSON with a list of columns
    "-@older_us",      // a variable with a sign
};

bool is_beyond(const std::string& text) {
    return std::any_of(beyond_the_parser.begin(), beyond_the_parser.end(),
                       [&](const char* part) { return text.find(part) != std::string::npos; });
}

class SqlServerSyntax : public testing::Test {
protected:
    // One file for each text; known to the test by its name.
    void add(const std::string& text) {
        if (is_beyond(text)) return;
        const std::string name = fmt::format("{:03}.sql", texts_.size());
        std::ofstream(folder_.path() / name) << text << "\n";
        texts_.emplace(name, text);
    }

    // Statements bind their values by question marks, which are no T-SQL.
    void add(const sql::Unit& unit) {
        for (const sql::Statement& statement : unit.statements) {
            std::string text = statement.sql;
            for (std::size_t at = text.find('?'); at != std::string::npos; at = text.find('?'))
                text.replace(at, 1, "@p");
            add(text);
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
};

TEST_F(SqlServerSyntax, EveryStatementAndRoutineIsTSql) {
    for (const std::string& batch :
         split_script(open_schema("sqlserver://nobody@localhost/nowhere")->script()))
        add(batch);
    const sql::Dialect dialect = make_dialect();
    const sql::CompiledDialect units(dialect, sql::Names(OpenOptions{}));
    for (const sql::QueueUnits& queue : {units.outbox_queue, units.inbox_queue})
        for (const sql::Unit& unit :
             {queue.claim, queue.held, queue.retry, queue.fail, queue.extend, queue.reap,
              queue.redrive, queue.retry_now, queue.attempts, queue.hold, queue.purge, queue.counts,
              queue.ack.group})
            add(unit);
    for (const sql::Unit& unit : {units.insert.one,   units.insert_packed,    units.enqueue,
                                  units.statement,    units.receive,          units.see,
                                  units.mark,         units.paused_topics,    units.pause_topic,
                                  units.resume_topic, units.report_worker,    units.forget_worker,
                                  units.workers,      units.record_audit,     units.audit_log,
                                  units.restore.look, units.restore.adopt,    units.restore.raise,
                                  units.restore.hold, units.restore.end_hold, units.now})
        add(unit);
    EXPECT_GT(texts_.size(), 150U);
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
