// The hot path where the database can take back what was written: savepoints.
#include "conformance/dispatcher_law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

NewMessage placed(const std::string& payload) {
    NewMessage message;
    message.topic = "order.placed";
    message.payload = payload;
    return message;
}

TEST_P(SqlTransactionLaw, WhatASavepointTookBackIsNeverHandedOver) {
    const SqlSandbox& engine = sql_sandbox();
    std::mutex mutex;
    std::vector<std::string> delivered;
    Recorder heard;
    Dispatcher dispatcher(store(), {.poll_interval_max = 1h, .observer = &heard});
    dispatcher.on("order.placed", [&](const Message& m) {
        const std::lock_guard lock(mutex);
        delivered.push_back(m.payload);
    });
    dispatcher.start();
    const auto tx = store().begin();
    outbox().enqueue(*tx, placed("before"));
    tx->execute({.sql = engine.savepoint("half"), .params = {}});
    outbox().enqueue(*tx, placed("taken back"));
    tx->execute({.sql = engine.roll_back_to("half"), .params = {}});
    tx->execute({.sql = engine.release("half"), .params = {}});
    tx->execute({.sql = engine.savepoint("other"), .params = {}});
    outbox().enqueue(*tx, placed("kept"));
    tx->execute({.sql = engine.release("other"), .params = {}});
    tx->commit();
    const auto give_up = std::chrono::steady_clock::now() + 60s;
    while (heard.count(EventKind::delivered) < 2 && std::chrono::steady_clock::now() < give_up)
        std::this_thread::sleep_for(1ms);
    dispatcher.close();
    EXPECT_THAT(delivered, testing::UnorderedElementsAre("before", "kept"));
    EXPECT_EQ(heard.count(EventKind::cold_enqueued), 0U);
    EXPECT_EQ(dispatcher.status().hot_depth, 0U);
}

}  // namespace
}  // namespace postroom::test
