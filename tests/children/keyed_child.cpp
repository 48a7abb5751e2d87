// A process that writes orders whose messages have to arrive in order, until it is killed.
//
//   keyed_child URL JOURNAL LEDGER SEED LEASE_MS
//
// Each order has messages with the ordering key of this process, and some without one. The payload
// of those is "SEED NUMBER", where the number only rises, that of the others "-". Unless LEDGER is
// "-" it delivers too, in memory where it can: a line of JSON with message_id and payload for each
// message, as the relay's file sink writes them.
//
// The journal is that of torture/journal.hpp; behind each commit it names the numbers that the
// messages got: kept TAG ID=NUMBER...
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "children/quick_dispatch.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "torture/journal.hpp"
#include "torture/worker_loop.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

constexpr auto pace = 10ms;

class KeyedChild {
public:
    KeyedChild(const std::string& url, const std::string& journal, const std::string& ledger,
               const std::string& seed, Duration lease)
        : name_(seed),
          random_(std::stoull(seed)),
          journal_(journal),
          store_(open_store(url, {.pool_max = 8})),
          outbox_(*store_) {
        if (ledger == "-") return;
        ledger_ = std::make_unique<torture::Journal>(ledger);
        dispatcher_ = std::make_unique<Dispatcher>(*store_, quick_dispatch(lease));
        dispatcher_->on("order.placed", [this](const Message& message) {
            ledger_->write(fmt::format("{{\"message_id\":\"{}\",\"payload\":\"{}\"}}\n",
                                       message.message_id.str(), message.payload));
        });
        dispatcher_->start();
    }

    bool step() {
        std::this_thread::sleep_for(pace);
        write_order();
        return true;
    }

    void note_error(std::string what) {
        std::replace(what.begin(), what.end(), '\n', ' ');
        journal_.write(fmt::format("error {}\n", what));
    }

private:
    std::vector<NewMessage> make_messages() {
        std::vector<NewMessage> messages(
            1 + random_() % 3,
            {.topic = "order.placed", .payload = "-", .content_type = "text/plain"});
        for (NewMessage& message : messages) {
            if (random_() % 3 == 0) continue;
            message.payload = fmt::format("{} {}", name_, ++number_);
            message.ordering_key = "key " + name_;
        }
        return messages;
    }

    void write_order() {
        const std::unique_ptr<Transaction> tx = store_->begin();
        const bool commit = random_() % 20 != 0;
        std::string plan = fmt::format("plan {} {} order", commit ? "commit" : "rollback", ++tag_);
        std::string kept = fmt::format("kept {}", tag_);
        for (const EnqueueResult& result : outbox_.enqueue_all(*tx, make_messages())) {
            const std::string& id = result.message_id.str();
            tx->execute({.sql = fmt::format("INSERT INTO business_order (id) VALUES ('{}')", id)});
            plan += ' ' + id;
            kept += fmt::format(" {}={}", id, result.id.seq());
        }
        journal_.write(plan + '\n');
        if (!commit) return tx->rollback();
        tx->commit();
        journal_.write(kept + '\n');
    }

    const std::string name_;
    std::mt19937_64 random_;
    torture::Journal journal_;
    std::unique_ptr<torture::Journal> ledger_;
    std::unique_ptr<Store> store_;
    Outbox outbox_;
    std::unique_ptr<Dispatcher> dispatcher_;
    std::uint64_t number_ = 0;
    std::uint64_t tag_ = 0;
};

}  // namespace
}  // namespace postroom::test

int main(int argc, char** argv) {
    if (argc != 6) return 2;
    postroom::test::KeyedChild child(argv[1], argv[2], argv[3], argv[4],
                                     std::chrono::milliseconds{std::stoi(argv[5])});
    return postroom::torture::worker_loop([&] { return child.step(); },
                                          [&](const std::string& what) { child.note_error(what); });
}
