// A receiver whose effect and done mark commit together, and which may be killed anywhere.
//
//   inbox_child URL SEED LEASE_MS
//
// The effect of a message is a row (source, message_id) in the table effect, which has no key: a
// second effect would be seen there.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "children/child_loop.hpp"
#include "postroom/inbox.hpp"
#include "postroom/open_store.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

class InboxChild {
public:
    InboxChild(const std::string& url, std::uint64_t seed, Duration lease)
        : lease_(lease), random_(seed), store_(open_store(url, {.pool_max = 2})), inbox_(*store_) {}

    bool step() {
        const auto batch = static_cast<std::uint32_t>(1 + random_() % 20);
        const std::vector<Message> messages = inbox_.claim(inbox_.owner(), lease_, batch);
        if (messages.empty()) std::this_thread::sleep_for(1ms);
        if (chance(3))
            std::this_thread::sleep_for(lease_ + 5ms);  // others take them over meanwhile
        // By once() for itself, or in groups by ack() with the leases.
        for (std::size_t i = 0; i < messages.size();) {
            const std::size_t group = std::min<std::size_t>(1 + random_() % 8, messages.size() - i);
            const std::span part(messages.data() + i, group);
            if (chance(30)) {
                take_effect_once(part.front());
                ++i;
            } else {
                take_effect_and_ack(part);
                i += group;
            }
        }
        return true;
    }

private:
    bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }

    static void write_effect(Transaction& tx, const Message& message) {
        tx.execute(
            {.sql = fmt::format("INSERT INTO effect (source, message_id) VALUES ('{}', '{}')",
                                message.source, message.message_id.str())});
    }

    void take_effect_once(const Message& message) {
        const std::unique_ptr<Transaction> tx = store_->begin();
        inbox_.once(*tx, message.source, message.message_id.str(),
                    [&] { write_effect(*tx, message); });
        if (chance(90)) tx->commit();
    }

    // All of the group or none: one lost lease undoes the effects of all.
    void take_effect_and_ack(std::span<const Message> messages) {
        std::vector<Lease> leases;
        for (const Message& message : messages) leases.push_back(message.lease.value());
        if (chance(5)) {
            inbox_.abandon(leases, "not this time", Duration{1ms});
            return;
        }
        const std::unique_ptr<Transaction> tx = store_->begin();
        for (const Message& message : messages) write_effect(*tx, message);
        for (const Settled settled : inbox_.ack(leases, tx.get()))
            if (settled != Settled::done) return;
        if (chance(90)) tx->commit();
    }

    const Duration lease_;
    std::mt19937_64 random_;
    std::unique_ptr<Store> store_;
    Inbox inbox_;
};

}  // namespace
}  // namespace postroom::test

int main(int count, char** arguments) {
    if (count != 4) return 2;
    using namespace postroom::test;
    InboxChild child(arguments[1], std::stoull(arguments[2]),
                     std::chrono::milliseconds{std::stoi(arguments[3])});
    return child_loop([&] { return child.step(); }, [](const std::string&) {});
}
