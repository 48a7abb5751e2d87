// A process with many threads that write to one store: some enqueue, each message by itself, some
// claim and acknowledge. It goes on until it is killed.
//
//   group_child URL JOURNAL
//
// A message of the topic "refused" is expected to be refused by the database. The journal has a
// line for each promise that the store made:
//
//   kept ID
//   acked ID
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "torture/journal.hpp"
#include "torture/worker_loop.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

constexpr int writers = 6;
constexpr int settlers = 2;

class GroupChild {
public:
    GroupChild(const std::string& url, const std::string& journal)
        : store_(open_store(url)), outbox_(*store_), journal_(journal) {}

    void enqueue_one(std::uint64_t number) {
        if (number % 7 == 0) return enqueue_refused();
        const MessageId id = outbox_.enqueue({.topic = "t", .payload = "x"}).message_id;
        journal_.write("kept " + id.str() + "\n");
    }

    void settle_some() {
        const std::vector<Message> claimed = outbox_.claim(outbox_.owner(), 1min, 5);
        if (claimed.empty()) std::this_thread::sleep_for(1ms);
        const std::vector<Settled> settled = outbox_.ack(claimed);
        std::string lines;
        for (std::size_t i = 0; i < settled.size(); ++i) {
            if (settled[i] == Settled::done) lines += "acked " + claimed[i].message_id.str() + "\n";
        }
        journal_.write(lines);
    }

private:
    void enqueue_refused() {
        try {
            outbox_.enqueue({.topic = "refused", .payload = "x"});
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::rejected) return;
            throw;
        }
        std::fputs("child: nothing was refused\n", stderr);
        std::abort();
    }

    const std::unique_ptr<Store> store_;
    const Outbox outbox_;
    torture::Journal journal_;
};

void ignore(const std::string&) {}

}  // namespace
}  // namespace postroom::test

int main(int argc, char** argv) {
    using namespace postroom::test;
    if (argc != 3) return 2;
    GroupChild child(argv[1], argv[2]);
    std::vector<std::jthread> threads;
    for (int i = 0; i < writers; ++i) {
        threads.emplace_back([&] {
            std::uint64_t number = 0;
            const auto step = [&] {
                child.enqueue_one(++number);
                return true;
            };
            if (postroom::torture::worker_loop(step, ignore) != 0) std::_Exit(1);
        });
    }
    for (int i = 0; i < settlers; ++i) {
        threads.emplace_back([&] {
            const auto step = [&] {
                child.settle_some();
                return true;
            };
            if (postroom::torture::worker_loop(step, ignore) != 0) std::_Exit(1);
        });
    }
}
