// A process with a dispatcher, which handles what there is until its input ends.
//
//   dispatch_child URL JOURNAL LEASE_MS
//
// Topics: `quick` takes no time, `long` one and a half leases, `poison` ends the process, and
// `stall` waits for a word on the input, which comes after its lease, and then fails for good, too
// late.
//
// Journal, one for all processes, with times of the machine's monotonic clock:
//
//   start PID ID NANOSECONDS   a handler was called
//   end PID ID NANOSECONDS     it is about to return
//   late RESULT ID             what became of an outcome that came after the lease
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "children/quick_dispatch.hpp"
#include "postroom/open_store.hpp"
#include "torture/journal.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

class DispatchChild {
public:
    DispatchChild(const std::string& url, const std::string& journal, Duration lease)
        : lease_(lease),
          journal_(journal),
          store_(open_store(url, {.pool_max = 8})),
          dispatcher_(*store_, quick_dispatch(lease)) {
        dispatcher_.on("quick", [this](const Message& m) { note("start", m), note("end", m); });
        dispatcher_.on("long", [this](const Message& m) {
            note("start", m);
            std::this_thread::sleep_for(3 * lease_ / 2);
            note("end", m);
        });
        dispatcher_.on("poison", [](const Message&) { std::abort(); });
        dispatcher_.on("stall", [this](const Message& m) { stall(m); });
    }

    void run() {
        dispatcher_.start();
        say("ready");
        wait_for_end_of_input([this] { was_told_ = true; });
        dispatcher_.close();
    }

private:
    void note(const char* what, const Message& message) {
        journal_.write(fmt::format("{} {} {} {}\n", what, ::getpid(), message.message_id.str(),
                                   SteadyClock::now().time_since_epoch() / 1ns));
    }

    // The first to have it stalls, whoever takes over does not.
    void stall(const Message& message) {
        note("start", message);
        if (message.lost_count == 0) {
            say("holding");
            while (!was_told_) std::this_thread::sleep_for(1ms);
            settle_late(message);
            throw PermanentFailure("too late");
        }
        note("end", message);
    }

    // The dispatcher may know already that the lease is gone and keep silent; the store must refuse
    // the outcome whatever the dispatcher knows.
    void settle_late(const Message& message) {
        const Settlement late{.lease = message.lease.value(), .outcome = Outcome::fail};
        const Settled result = store_->settle(nullptr, Queue::outbox, {&late, 1}).at(0);
        journal_.write(fmt::format("late {} {}\n", result == Settled::lost ? "lost" : "taken",
                                   message.message_id.str()));
    }

    const Duration lease_;
    std::atomic<bool> was_told_ = false;
    torture::Journal journal_;
    std::unique_ptr<Store> store_;
    Dispatcher dispatcher_;
};

}  // namespace
}  // namespace postroom::test

int main(int count, char** arguments) {
    if (count != 4) return 2;
    const rlimit no_core_file{};
    setrlimit(RLIMIT_CORE, &no_core_file);
    postroom::test::DispatchChild child(arguments[1], arguments[2],
                                        std::chrono::milliseconds{std::stoi(arguments[3])});
    child.run();
    return 0;
}
