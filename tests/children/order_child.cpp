// A process that writes orders and delivers their messages itself, until it is killed.
//
//   order_child work|drain URL JOURNAL SEED LEASE_MS
//
// `drain` writes no orders and ends when nothing is left to deliver. The journal is that of
// torture/journal.hpp.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "children/child_main.hpp"
#include "children/quick_dispatch.hpp"
#include "postroom/error.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "torture/journal.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

std::int64_t microseconds(Instant instant) { return instant.time_since_epoch().count(); }

class NoteHandOvers final : public Observer {
public:
    explicit NoteHandOvers(torture::Journal& journal) : journal_(journal) {}
    void observe(const Event& event) noexcept override {
        if (event.kind == EventKind::hot_enqueued)
            journal_.write(fmt::format("handed {}\n", event.count));
    }

private:
    torture::Journal& journal_;
};

class OrderChild {
public:
    OrderChild(const std::string& mode, const std::string& url, const std::string& journal,
               std::uint64_t seed, Duration lease)
        : drains_(mode == "drain"),
          random_(seed),
          journal_(journal),
          hand_overs_(journal_),
          store_(open_store(url, {.pool_max = 8})),
          outbox_(*store_),
          dispatcher_(*store_, options(lease)) {
        dispatcher_.on("order.placed", [this, lease](const Message& m) { handle(m, lease); });
        dispatcher_.start();
    }

    bool step() {
        if (!drains_) {
            try {
                enqueue();
            } catch (const Error& error) {
                // The victim of a deadlock begins anew, with the next order.
                if (error.kind() != ErrorKind::conflict) throw;
            }
            // What waits in memory is lost with the process and comes back one at a time: not more
            // of it than the handlers get done.
            std::this_thread::sleep_for(5ms);
            return true;
        }
        std::this_thread::sleep_for(20ms);
        const Counts counts = outbox_.counts();
        return counts.ready + counts.in_progress > 0;
    }

    void note_error(const std::string& what) { journal_.write(fmt::format("error {}\n", what)); }

private:
    DispatcherOptions options(Duration lease) {
        DispatcherOptions out = quick_dispatch(lease);
        // It is the test that kills, not the messages.
        out.crash_limit = 1'000'000;
        out.observer = &hand_overs_;
        return out;
    }

    bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }

    void handle(const Message& message, Duration lease) {
        const Lease& held = message.lease.value();
        const std::string who =
            fmt::format("{} {}", message.message_id.str(), held.lease_id.value());
        journal_.write(fmt::format("held {} {} {}\n", who, microseconds(held.locked_until - lease),
                                   microseconds(held.locked_until)));
        if (message.id.seq() % 4 == 0) std::this_thread::sleep_for(2ms);
        journal_.write(fmt::format("settle ack {} {}\n", who, microseconds(held.locked_until)));
    }

    void enqueue() {
        std::vector<NewMessage> messages(
            1 + random_() % 5,
            {.topic = "order.placed", .payload = std::string(random_() % 300, 'x')});
        // What is due later is claimed; the rest is handed over while there is room for it.
        if (chance(30)) messages.front().due_time = store_->now() + 20ms;
        const std::unique_ptr<Transaction> tx = store_->begin();
        const bool commit = chance(70);
        std::string plan = fmt::format("plan {} {} order", commit ? "commit" : "rollback", ++tag_);
        for (const EnqueueResult& result : outbox_.enqueue_all(*tx, messages)) {
            const std::string& id = result.message_id.str();
            tx->execute({.sql = fmt::format("INSERT INTO business_order (id) VALUES ('{}')", id)});
            plan += ' ' + id;
        }
        journal_.write(plan + '\n');
        if (commit) {
            tx->commit();
            journal_.write(fmt::format("kept {}\n", tag_));
        } else if (chance(50)) {
            tx->rollback();
        }  // else the destructor does it
    }

    const bool drains_;
    std::mt19937_64 random_;
    torture::Journal journal_;
    NoteHandOvers hand_overs_;
    std::unique_ptr<Store> store_;
    Outbox outbox_;
    Dispatcher dispatcher_;
    std::uint64_t tag_ = 0;
};

}  // namespace
}  // namespace postroom::test

int main(int count, char** arguments) {
    return postroom::test::run_child<postroom::test::OrderChild>(count, arguments);
}
