// The restore guard on PostgreSQL: dumps, base backups, and a standby that takes over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "postroom/backend/postgres.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/private_postgres.hpp"
#include "support/process.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::postgres_restore {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr std::chrono::seconds patience{120};

void run(const std::string& program, const std::vector<std::string>& arguments) {
    ChildProcess child({.program = program, .arguments = arguments, .merge_stderr = true});
    const std::string said = child.read_all(patience);
    const std::optional<ExitStatus> ended = child.wait(patience);
    if (!ended || !ended->success()) throw std::runtime_error(program + ": " + said);
}

std::string tool(const std::string& name) {
    const char* const given = std::getenv("POSTROOM_POSTGRES_BIN");
    return fmt::format("{}/{}", given == nullptr ? "/usr/lib/postgresql/15/bin" : given, name);
}

// A server whose data can be taken away and put back.
class RestorablePostgres : public PrivatePostgres {
public:
    std::string url() const { return server().url("postgres"); }

    // What pg_basebackup makes of it, in `folder`; with the settings of a standby if asked.
    void back_up(const std::filesystem::path& folder, bool standby = false) const {
        std::vector<std::string> arguments{"-d", url(), "-D", folder.string(), "-c", "fast"};
        if (standby) arguments.emplace_back("-R");
        run(tool("pg_basebackup"), arguments);
    }
    // Starts again with these data instead of its own.
    void restart_with(const std::filesystem::path& backup) {
        crash();
        const std::string data = data_folder();
        run("/bin/sh", {"-c", fmt::format("rm -f {1}/.s.PGSQL.* && chown -R --reference={0} {1} && "
                                          "rm -rf {0}/* && "
                                          "cp -a {1}/. {0}/",
                                          data, backup.string())});
        resume();
    }

private:
    std::string data_folder() const {
        std::ifstream file(directory() / "postgres/postgres.env");
        for (std::string line; std::getline(file, line);)
            if (line.starts_with("data=")) return line.substr(5);
        throw std::runtime_error("the server does not say where its data are");
    }
};

class PostgresRestore : public testing::Test {
protected:
    std::unique_ptr<Store> open(const std::string& url) const {
        return postgres::open_store(url, {.restore_guard = {.on = true,
                                                            .state_dir = memory.path().string(),
                                                            .raise_interval = {},
                                                            .settled_after = {}}});
    }
    std::vector<Message> claim(const std::string& url) const {
        return open(url)->claim(Queue::outbox, {.owner = OwnerToken::generate(), .batch = 10});
    }
    std::string refusal(const std::string& url) const {
        try {
            claim(url);
        } catch (const Error& error) {
            return error.what();
        }
        return "nothing";
    }
    // Deployed, served by a worker, and with one message that waits.
    void fill(const std::string& url) const {
        postgres::open_schema(url)->deploy();
        claim(url);
        Outbox(*open(url)).enqueue({.topic = "t", .payload = "p"});
    }

    TempDir memory;
    TempDir folder;
};

TEST_F(PostgresRestore, ADumpIsHeldBesideTheOriginalAndInAnotherCluster) {
    const PostgresDatabase original;
    const PostgresDatabase beside;
    const PrivatePostgres elsewhere;
    fill(original.url());
    const std::string dump = (folder / "dump.sql").string();
    run(tool("pg_dump"), {"-d", original.url(), "-f", dump});
    for (const std::string& url : {beside.url(), elsewhere.server().url("postgres")}) {
        run(tool("psql"), {"-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", dump});
        EXPECT_THAT(refusal(url), HasSubstr("this database is a copy"));
        Outbox(*open(url)).enqueue({.topic = "t", .payload = "new"});
    }
    EXPECT_THAT(claim(original.url()), SizeIs(1));
}

TEST_F(PostgresRestore, ABaseBackupThatIsPutBackIsHeldAlsoForAWorkerThatGoesOn) {
    RestorablePostgres server;
    fill(server.url());
    server.back_up(folder / "backup");
    const std::unique_ptr<Store> worker = open(server.url());
    const auto claim_of_worker = [&] {
        return worker->claim(Queue::outbox, {.owner = OwnerToken::generate(), .batch = 10});
    };
    EXPECT_THAT(claim_of_worker(), SizeIs(1));
    EXPECT_EQ(refusal(server.url()), "nothing");

    server.restart_with(folder / "backup");
    EXPECT_EQ(psql(server.url(), "SELECT count(*) FROM infra.outbox_lease"), (SqlRows{{"0"}}));
    // Whatever it says first, of a connection that is gone, it never claims.
    std::string said;
    const auto refuses = [&] {
        try {
            EXPECT_THAT(claim_of_worker(), SizeIs(0));
        } catch (const Error& error) {
            said = error.what();
        }
        return said.find("has gone back in time") != std::string::npos;
    };
    EXPECT_TRUE(wait_until(refuses, 60s, 10ms)) << said;
    EXPECT_EQ(psql(server.url(), "SELECT count(*) FROM infra.outbox_lease"), (SqlRows{{"0"}}));
    EXPECT_THAT(refusal(server.url()), HasSubstr("has gone back in time"));
}

// Nor while it is a standby and behind: nobody can claim there, and what it says of the past must
// not stop its primary.
TEST_F(PostgresRestore, AStandbyThatIsPromotedIsNotHeld) {
    RestorablePostgres primary;
    RestorablePostgres standby;
    postgres::open_schema(primary.url())->deploy();
    claim(primary.url());
    primary.back_up(folder / "standby", true);
    standby.restart_with(folder / "standby");
    ASSERT_EQ(psql(standby.url(), "SELECT pg_is_in_recovery()"), (SqlRows{{"t"}}));
    // What the relay remembers is newer than the base backup: it came by replication.
    psql(standby.url(), "SELECT pg_wal_replay_pause()");
    const auto paused = [&] {
        return psql(standby.url(), "SELECT pg_get_wal_replay_pause_state()") == SqlRows{{"paused"}};
    };
    ASSERT_TRUE(wait_until(paused, 60s, 10ms));
    claim(primary.url());
    EXPECT_THAT(refusal(standby.url()),
                AllOf(Not(HasSubstr("delivery is held")), Not(testing::Eq("nothing"))));
    EXPECT_EQ(refusal(primary.url()), "nothing");
    psql(standby.url(), "SELECT pg_wal_replay_resume()");
    Outbox(*open(primary.url())).enqueue({.topic = "t", .payload = "p"});
    const SqlRows written = psql(primary.url(), "SELECT pg_current_wal_flush_lsn()");
    const auto replayed = [&] {
        return psql(standby.url(), fmt::format("SELECT pg_last_wal_replay_lsn() >= '{}'",
                                               written.front().front().value())) == SqlRows{{"t"}};
    };
    ASSERT_TRUE(wait_until(replayed, 60s, 10ms));
    primary.crash();
    ASSERT_EQ(psql(standby.url(), "SELECT pg_promote()"), (SqlRows{{"t"}}));
    EXPECT_THAT(claim(standby.url()), SizeIs(1));
}

}  // namespace
}  // namespace postroom::test::postgres_restore
