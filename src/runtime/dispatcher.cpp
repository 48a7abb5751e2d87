#include "postroom/dispatcher.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/random.hpp"
#include "postroom/error.hpp"
#include "queue/dispatch_core.hpp"
#include "runtime/loop.hpp"
#include "runtime/monotonic_clock.hpp"
#include "runtime/worker_pool.hpp"

namespace postroom {

namespace {

constexpr Duration bell_wait = std::chrono::seconds{5};
constexpr Duration bell_repair_pause = std::chrono::seconds{1};
constexpr Duration close_look_interval = std::chrono::milliseconds{1};

constexpr Duration settle_time_min = std::chrono::seconds{5};

// Neither has a state of its own, so all dispatchers share them; made by the first one, they
// outlive all.
const MonotonicClock& monotonic_clock() {
    static const MonotonicClock clock;
    return clock;
}

base::SystemRandom& system_random() {
    static base::SystemRandom random;
    return random;
}

class Hooks final : public Interceptor {
public:
    Hooks(std::function<void(const Message&)> before,
          std::function<void(const Message&, std::string_view)> after)
        : before_(std::move(before)), after_(std::move(after)) {}

    void before(const Message& message) override {
        if (before_) before_(message);
    }
    void after(const Message& message, std::string_view error) override {
        if (after_) after_(message, error);
    }

private:
    const std::function<void(const Message&)> before_;
    const std::function<void(const Message&, std::string_view)> after_;
};

bool wait_until(bool (DispatchCore::*holds)() const, const DispatchCore& core, Duration timeout) {
    const Instant give_up = monotonic_clock().now() + timeout;
    while (!(core.*holds)()) {
        if (monotonic_clock().now() >= give_up) return false;
        std::this_thread::sleep_for(close_look_interval);
    }
    return true;
}

}  // namespace

// The loops around one core, each a thread.
class Dispatcher::Threads {
public:
    Threads(Store& store, DispatchCore& core)
        : core_(core),
          settler_(monotonic_clock(),
                   [this](Instant now, const std::stop_token&) { return core_.settle_step(now); }),
          keeper_(monotonic_clock(),
                  [this](Instant now, const std::stop_token&) { return core_.keep_step(now); }),
          workers_(core.options().worker_count, [this] { return work(); }),
          poller_(monotonic_clock(),
                  [this](Instant now, std::stop_token stop) {
                      return core_.claim_step(now, std::move(stop));
                  }),
          janitor_(monotonic_clock(), [this](Instant now, std::stop_token stop) {
              return core_.tend_step(now, std::move(stop));
          }) {
        core_.connect({.workers = [this](std::size_t count) { workers_.wake(count); },
                       .poller = [this] { poller_.wake(); },
                       .settler = [this] { settler_.wake(); },
                       .keeper = [this] { keeper_.wake(); }});
        // What came before anybody could be woken.
        workers_.wake(core.options().worker_count);
        keeper_.wake();
        settler_.wake();
        poller_.wake();
        if (!core.options().wake_ups) return;
        try {
            listen(store);
        } catch (...) {
            core_.disconnect();
            throw;
        }
    }

    ~Threads() { core_.disconnect(); }

    // The order is that of the messages: nothing new comes in, what runs ends, all is settled.
    void stop(Duration drain_timeout) {
        if (listener_.joinable()) {
            listener_.request_stop();
            listener_.join();
        }
        poller_.stop();
        janitor_.stop();
        if (!wait_until(&DispatchCore::idle, core_, drain_timeout)) {
            core_.request_stop_of_handlers();
            workers_.stop();
            wait_until(&DispatchCore::idle, core_, drain_timeout);
        }
        workers_.stop();
        wait_until(&DispatchCore::all_settled, core_, std::max(drain_timeout, settle_time_min));
        keeper_.stop();
        settler_.stop();
    }

private:
    bool work() {
        std::optional<Work> next = core_.take(monotonic_clock().now());
        if (!next) return false;
        core_.run(std::move(*next));
        return true;
    }

    void listen(Store& store) {
        listener_ = std::jthread([this, &store](const std::stop_token& stop) {
            while (!stop.stop_requested()) hear(store, stop);
        });
    }

    // Until the bell breaks or stops. Polling goes on meanwhile.
    void hear(Store& store, const std::stop_token& stop) {
        try {
            const std::unique_ptr<Doorbell> bell = store.doorbell(core_.options().queue);
            while (!stop.stop_requested())
                if (bell->wait(bell_wait, stop)) core_.nudge();
        } catch (const std::exception& error) {
            core_.store_failed("listen", error.what());
            base::Mutex mutex;
            base::CondVar never;
            base::MutexLock lock(mutex);
            never.wait_for(lock, stop, bell_repair_pause, [] { return false; });
        }
    }

    DispatchCore& core_;
    Loop settler_;
    Loop keeper_;
    WorkerPool workers_;
    Loop poller_;
    Loop janitor_;
    std::jthread listener_;
};

Dispatcher::Dispatcher(Store& store, const DispatcherOptions& options)
    : store_(store),
      core_(std::make_shared<DispatchCore>(
          store, options, monotonic_clock(),
          options.random == nullptr ? system_random() : *options.random)) {}

Dispatcher::~Dispatcher() { close(); }

void Dispatcher::require_unstarted(const char* what) const {
    if (threads_ || closed_)
        throw Error(ErrorKind::misuse, std::string(what) + ": only before start()");
}

Routes& Dispatcher::routes() {
    require_unstarted("routes");
    return core_->routes();
}

Dispatcher& Dispatcher::intercept(std::shared_ptr<Interceptor> interceptor) {
    require_unstarted("intercept");
    core_->intercept(std::move(interceptor));
    return *this;
}

Dispatcher& Dispatcher::before(std::function<void(const Message&)> hook) {
    return intercept(std::make_shared<Hooks>(std::move(hook), nullptr));
}

Dispatcher& Dispatcher::after(std::function<void(const Message&, std::string_view)> hook) {
    return intercept(std::make_shared<Hooks>(nullptr, std::move(hook)));
}

void Dispatcher::start() {
    require_unstarted("start");
    threads_ = std::make_unique<Threads>(store_, *core_);
    store_.attach(core_->options().queue, core_);
}

void Dispatcher::close() {
    if (std::exchange(closed_, true)) return;
    store_.detach(core_->options().queue, *core_);
    core_->begin_close();
    if (threads_) threads_->stop(core_->options().drain_timeout);
    threads_.reset();
}

void Dispatcher::pause(const std::string& topic) { core_->pause(topic); }
void Dispatcher::resume(const std::string& topic) { core_->resume(topic); }
void Dispatcher::nudge() { core_->nudge(); }
DispatcherStatus Dispatcher::status() const { return core_->status(); }
const OwnerToken& Dispatcher::owner() const { return core_->owner(); }

}  // namespace postroom
