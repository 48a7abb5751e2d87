// The restore guard on MariaDB: a database under another name is a copy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>

#include "admin/restore.hpp"
#include "postroom/backend/mysql.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/mariadb_server.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test::mariadb_restore {
namespace {

using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr std::chrono::seconds patience{120};

// Runs a client program on the server of the tests, as an operator would in a shell; `rest` is what
// follows the options that lead to the server.
void run(const std::string& program, const std::string& rest) {
    const std::map<std::string, std::string> server = server_values(servers_directory(), "mariadb");
    const std::string command =
        fmt::format("exec {} --no-defaults --default-character-set=utf8mb4 -h {} -P {} -u {} {}",
                    program, server.at("host"), server.at("port"), server.at("user"), rest);
    ChildProcess child({.program = "/bin/sh",
                        .arguments = {"-c", command},
                        .environment = {{"MYSQL_PWD", server.at("password")}},
                        .merge_stderr = true});
    const std::string said = child.read_all(patience);
    const std::optional<ExitStatus> ended = child.wait(patience);
    if (!ended || !ended->success()) throw std::runtime_error(program + ": " + said);
}

std::vector<Message> claim(const std::string& url) {
    return mysql::open_store(url, {.restore_guard = {.on = true}})
        ->claim(Queue::outbox, {.owner = OwnerToken::generate(), .batch = 10});
}

std::string refusal(const std::string& url) {
    try {
        claim(url);
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing";
}

std::string moved(const MariadbDatabase& original, const MariadbDatabase& copy) {
    return fmt::format("it was at database {}, and is at database {}", original.name(),
                       copy.name());
}

// Goal: what a dump brings to a database of another name is held there.
// Method: of all that a dump brings, the row that tells where the store lives.
TEST(MariadbRestore, ADumpIntoAnotherDatabaseIsHeld) {
    const MariadbDatabase original;
    const MariadbDatabase copy;
    for (const std::string& url : {original.url(), copy.url()}) mysql::open_schema(url)->deploy();
    claim(original.url());
    mariadb_sql(copy.url(), fmt::format("REPLACE INTO outbox_home SELECT * FROM `{}`.outbox_home",
                                        original.name()));
    for (const std::string& url : {original.url(), copy.url()})
        Outbox(*mysql::open_store(url)).enqueue({.topic = "t", .payload = "p"});
    EXPECT_THAT(refusal(copy.url()), HasSubstr(moved(original, copy)));
    EXPECT_THAT(claim(original.url()), SizeIs(1));
}

// Goal: what mariadb-dump writes is a whole store: held under another name, and at work there once
// an operator has decided so.
TEST(MariadbRestore, AStoreThatWasDumpedAndLoadedGoesOnWhenAnOperatorSaysSo) {
    const MariadbDatabase original;
    const MariadbDatabase copy;
    const TempDir folder;
    mysql::open_schema(original.url())->deploy();
    claim(original.url());
    Outbox(*mysql::open_store(original.url())).enqueue({.topic = "t", .payload = "old"});
    const std::string dump = (folder / "dump.sql").string();
    run("mariadb-dump",
        fmt::format("--routines --single-transaction {} >'{}'", original.name(), dump));
    run("mariadb", fmt::format("{} <'{}'", copy.name(), dump));

    EXPECT_THAT(refusal(copy.url()), HasSubstr(moved(original, copy)));
    const std::unique_ptr<Store> store = mysql::open_store(copy.url());
    Outbox(*store).enqueue({.topic = "t", .payload = "new"});
    EXPECT_THAT(refusal(copy.url()), HasSubstr("delivery is held"));

    EXPECT_TRUE(
        admin::decide(*store, {.answer = admin::RestoreAnswer::proceed, .who = "ann"}).was_held);
    EXPECT_THAT(claim(copy.url()), UnorderedElementsAre(Field(&Message::payload, "old"),
                                                        Field(&Message::payload, "new")));
    EXPECT_THAT(claim(original.url()), SizeIs(1));
}

}  // namespace
}  // namespace postroom::test::mariadb_restore
