// The server dies between an acknowledgement that it has confirmed and the flush of its log. The
// dispatcher does not wait for that flush, so the acknowledgement is forgotten. Its message comes
// again; nothing is lost. With an ordering key it would come after later ones: then it waits.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <set>
#include <string>

#include "base/mutex.hpp"
#include "postroom/dispatcher.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "support/postgres_server.hpp"
#include "support/private_postgres.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::async_ack_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t count = 10;

std::unique_ptr<Store> open(const std::string& url, bool deploy = false) {
    return open_store(url, {.deploy_schema = deploy, .keep_history = false});
}

// Messages that are to be handled, and as many whose time has not come.
std::set<std::string> enqueue(const std::string& url, int round, const std::string& key = {}) {
    const auto store = open(url);
    const Outbox outbox(*store);
    std::set<std::string> payloads;
    std::vector<NewMessage> messages;
    for (std::size_t i = 0; i < count; ++i) {
        payloads.insert(fmt::format("{}/{}", round, i));
        messages.push_back(
            {.topic = "handled", .payload = fmt::format("{}/{}", round, i), .ordering_key = key});
        messages.push_back({.topic = "later", .payload = "", .due_time = store->now() + 1h});
    }
    outbox.enqueue_all(messages);
    return payloads;
}

// Handles what is there until `enough`, and settles it. Returns what was handled.
std::set<std::string> dispatch(const std::string& url,
                               const std::function<bool(Store&, std::size_t)>& enough) {
    const auto store = open(url);
    base::Mutex mutex;
    std::set<std::string> handled;
    {
        Dispatcher dispatcher(*store, {.retention = Duration::zero()});
        dispatcher.on("handled", [&](const Message& message) {
            const base::MutexLock lock(mutex);
            handled.insert(message.payload);
        });
        dispatcher.start();
        const auto size = [&] {
            const base::MutexLock lock(mutex);
            return handled.size();
        };
        EXPECT_TRUE(wait_until([&] { return enough(*store, size()); }, 60s));
    }
    return handled;
}

// From here on nobody flushes what was confirmed before its flush.
void put_off_flushes(PrivatePostgres& server, const PostgresDatabase& database) {
    const SqlRows writer =
        database.psql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'");
    server.kill_backend(static_cast<pid_t>(std::stol(writer.at(0).at(0).value())), SIGSTOP);
}

bool all_gone(Store& store, std::size_t handled) {
    return handled >= count && store.counts(Queue::outbox).in_progress == 0;
}

std::size_t left(const PostgresDatabase& database) {
    const SqlRows rows = database.psql("SELECT count(*) FROM infra.outbox WHERE topic = 'handled'");
    return std::stoul(rows.at(0).at(0).value());
}

TEST(PostgresAsyncAckTest, AnAckThatACrashUndoesIsARedeliveryAndNeverALoss) {
    PrivatePostgres server;
    const PostgresDatabase database(server.server());
    open(database.url(), /*deploy=*/true);
    std::size_t redelivered = 0;
    // Something else may flush the log just then, such as a checkpoint: then it is tried again.
    for (int round = 1; redelivered == 0 && round <= 10; ++round) {
        const std::set<std::string> written = enqueue(database.url(), round);
        put_off_flushes(server, database);
        EXPECT_EQ(dispatch(database.url(), all_gone), written);

        server.crash_restart();

        EXPECT_EQ(database.psql("SELECT count(*) FROM infra.outbox WHERE topic = 'later'"),
                  (SqlRows{{std::to_string(round * count)}}));
        redelivered = left(database);
        const auto none_left = [](Store& store, std::size_t) {
            return store.counts(Queue::outbox).in_progress == 0 &&
                   store.find(Queue::outbox, {.topic = "handled"}).empty();
        };
        EXPECT_EQ(dispatch(database.url(), none_left).size(), redelivered);
    }
    EXPECT_GT(redelivered, 0U) << "every acknowledgement was flushed before the crash";
}

TEST(PostgresAsyncAckTest, AnAckOfAMessageWithAnOrderingKeyOutlivesACrash) {
    PrivatePostgres server;
    const PostgresDatabase database(server.server());
    open(database.url(), /*deploy=*/true);
    const std::set<std::string> written = enqueue(database.url(), 1, "key");
    put_off_flushes(server, database);
    EXPECT_EQ(dispatch(database.url(), all_gone), written);
    server.crash_restart();
    EXPECT_EQ(left(database), 0U);
}

}  // namespace
}  // namespace postroom::test::async_ack_test
