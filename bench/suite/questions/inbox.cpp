#include <atomic>

#include "suite/ours.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

constexpr std::uint32_t batch = 100;

std::size_t receive_and_process(const Ours& ours) {
    static std::atomic<std::uint64_t> next{0};
    std::vector<postroom::ReceivedMessage> messages(
        batch, {.topic = "order.placed", .source = "bench", .payload = sample_payload()});
    for (auto& message : messages) message.message_id = "message-" + std::to_string(++next);
    ours.inbox.enqueue_all(messages);
    const std::vector<postroom::Message> claimed = ours.inbox.claim_due(batch);
    ours.inbox.ack(claimed);
    return claimed.size();
}

void compare(Bench& bench, Engine& engine) {
    const auto floor = engine.floor(engine.fresh_database());
    const Ours ours(engine.fresh_database());
    const double seconds = bench.options().seconds;
    bench.run({"inbox",
               engine.name(),
               "batch 100",
               "INSERT, claim, UPDATE",
               {{"INSERT, claim, UPDATE", Role::floor,
                 [&] {
                     return measure_load(engine, 1, seconds, [&](int thread) {
                         const std::shared_ptr<FloorConnection> connection =
                             floor->connection(thread);
                         return [connection] {
                             connection->receive(batch);
                             return connection->process(batch);
                         };
                     });
                 }},
                {"enqueue_all, claim, ack", Role::ours, [&] {
                     return measure_load(engine, 1, seconds, [&](int) {
                         return [&] { return receive_and_process(ours); };
                     });
                 }}}});
}

}  // namespace

void ask_inbox(Bench& bench) {
    for (const auto& engine : bench.engines()) compare(bench, *engine);
}

}  // namespace bench
