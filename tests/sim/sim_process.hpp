// SimProcess: one process from its start to its end: a dispatcher core with the loops and workers
// that the runtime would put around it, an outbox, open transactions, and a clock of its own.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.hpp"
#include "dispatch/dispatch_core.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "sim/dice.hpp"
#include "sim/faulty_store.hpp"

namespace postroom::sim {

class World;

class OffsetClock final : public Clock {
public:
    explicit OffsetClock(const Clock& base) : base_(base) {}
    Instant now() const override { return base_.now() + offset; }

    Duration offset{};

private:
    const Clock& base_;
};

enum class Loop : std::uint8_t { claim, settle, keep, maintain };
constexpr std::size_t loop_count = 4;

// A handler between its call and its end.
struct HandlerAtWork {
    Work work{};
    std::optional<Delivery> delivery{};  // asynchronous
    Message message{};                   // of the delivery
    Instant started{};                   // the process's clock
    Instant ends{};                      // the database's clock
    bool isolated = false;
};

struct OpenTransaction {
    std::unique_ptr<Transaction> transaction{};
    Instant ends{};
    bool commits = true;
};

class SimProcess final : public CallWeather, public Observer {
public:
    SimProcess(World& world, int life, bool dispatches);
    ~SimProcess() override;

    int life() const { return life_; }
    bool dispatches() const { return dispatches_; }
    DispatchCore& core() { return *core_; }
    FaultyStore& store() { return store_; }
    Outbox& outbox() { return outbox_; }
    OffsetClock& clock() { return clock_; }

    // Loops.
    bool due(Loop loop) const;
    std::optional<Instant> next_due() const;  // the database's clock; nullopt: never
    void step(Loop loop);
    void wake(Loop loop);

    // Workers.
    bool worker_waits() const { return dispatches_ && awake_ > 0; }
    void work();
    void finish(std::size_t handler);
    std::vector<HandlerAtWork>& handlers() { return handlers_; }

    // The end.
    void begin_close();
    bool closing() const { return closing_; }
    bool closed() const;
    // Ends as a crash does: nothing is settled any more.
    void die() { dead_ = true; }
    bool dead() const { return dead_; }
    int depth() const { return depth_; }  // calls of this process that are on the stack

    void judge_bounds();
    void judge_closed();
    void judge_credit();

    void before_call(const char* call) override;
    void after_call(const char* call, bool known) override;
    bool savepoint_rolls_back() override;
    bool savepoint_used() override;
    void observe(const Event& event) noexcept override;

    std::vector<OpenTransaction> transactions{};
    Instant paused_until{};
    bool clock_is_true = true;

private:
    // Counts a call on the stack.
    class Frame {
    public:
        explicit Frame(SimProcess& process) : process_(process) { ++process_.depth_; }
        ~Frame() { --process_.depth_; }
        Frame(const Frame&) = delete;
        Frame& operator=(const Frame&) = delete;

    private:
        SimProcess& process_;
    };

    void add_routes();
    Saying choose(const Message& message);
    // Throws what the chosen outcome stands for.
    void handle(const Message& message, HandlerContext* in_transaction);
    Verdict verdict(const Message& message);
    void judge_isolation(const Work& work);
    // By what the database shows; 0 when the lease is not the message's any more.
    std::uint32_t losses_of(const Message& message) const;
    bool must_be_isolated(const Message& message) const;
    [[noreturn]] void fail_call(const char* call, ErrorKind kind);
    void crash_by_chance();

    World& world_;
    const int life_;
    const bool dispatches_;
    OffsetClock clock_;
    base::SeededRandom random_;
    FaultyStore store_;
    Outbox outbox_;
    std::shared_ptr<DispatchCore> core_;
    std::array<Instant, loop_count> wake_at_{};
    std::array<bool, loop_count> busy_{};
    std::vector<HandlerAtWork> handlers_;
    std::optional<Delivery> arrived_;  // by the asynchronous handler that was just called
    std::size_t awake_ = 0;            // workers that look for something to do
    std::size_t running_ = 0;          // workers in a handler
    int depth_ = 0;
    bool closing_ = false;
    bool dead_ = false;
};

}  // namespace postroom::sim
