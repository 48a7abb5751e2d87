// The restore guard on MariaDB: a database under another name is a copy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "postroom/backend/mysql.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/mariadb_server.hpp"

namespace postroom::test::mariadb_restore {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::vector<Message> claim(const std::string& url) {
    return mysql::open_store(url, {.restore_guard = {.on = true}})
        ->claim(Queue::outbox, {.owner = OwnerToken::generate(), .batch = 10});
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
    try {
        claim(copy.url());
        ADD_FAILURE() << "it was claimed from";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(),
                    HasSubstr(fmt::format("it was at database {}, and is at database {}",
                                          original.name(), copy.name())));
    }
    EXPECT_THAT(claim(original.url()), SizeIs(1));
}

}  // namespace
}  // namespace postroom::test::mariadb_restore
