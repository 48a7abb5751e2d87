#include "sim/sim_process.hpp"

#include <algorithm>
#include <utility>

#include "queue/hot_path.hpp"
#include "sim/repeated_hand_over.hpp"
#include "sim/world.hpp"

namespace postroom::sim {

namespace {

OwnerToken owner_of(int life) {
    Uuid uuid;
    uuid.bytes[0] = 1;
    uuid.bytes[14] = static_cast<std::uint8_t>(life >> 8);
    uuid.bytes[15] = static_cast<std::uint8_t>(life);
    return OwnerToken(uuid);
}

DispatcherOptions options_of(const Profile& profile, int life, Observer& observer) {
    DispatcherOptions options = profile.options;
    options.owner = owner_of(life);
    options.observer = &observer;
    return options;
}

OutboxOptions outbox_options(int life, Random& random, const Clock& clock) {
    OutboxOptions options;
    options.queue.owner = owner_of(life);
    options.queue.random = &random;
    options.clock = &clock;
    return options;
}

std::size_t place(Loop loop) { return static_cast<std::size_t>(loop); }

}  // namespace

SimProcess::SimProcess(World& world, int life, bool dispatches)
    : world_(world),
      life_(life),
      dispatches_(dispatches),
      clock_(world.time()),
      random_(world.profile().seed * 1'000'003 + static_cast<std::uint64_t>(life)),
      store_(world.witness(), world.ledger(), *this, world.profile().mutant),
      outbox_(store_, outbox_options(life, random_, clock_)) {
    clock_.offset = world.dice().between(-std::chrono::hours{1}, std::chrono::hours{1});
    if (!dispatches_) return;
    core_ = std::make_shared<DispatchCore>(store_, options_of(world.profile(), life, *this), clock_,
                                           random_);
    add_routes();
    wake_at_.fill(clock_.now());
    const std::size_t workers = world.profile().options.worker_count;
    awake_ = workers;
    if (world.profile().mutant != Mutant::wake_ups_lost) {
        core_->connect({.workers =
                            [this, workers](std::size_t count) {
                                const std::size_t busy = awake_ + running_;
                                awake_ += std::min(count, workers - std::min(workers, busy));
                            },
                        .poller = [this] { wake(Loop::claim); },
                        .settler = [this] { wake(Loop::settle); },
                        .keeper = [this] { wake(Loop::keep); }});
    }
    if (world.profile().mutant == Mutant::hand_over_again_later) {
        store_.attach(Queue::outbox, std::make_shared<RepeatedHandOver>(core_));
    } else {
        store_.attach(Queue::outbox, core_);
    }
}

SimProcess::~SimProcess() {
    world_.ledger().process_ended(life_);
    if (core_) core_->disconnect();
    transactions.clear();
    handlers_.clear();
    store_.attach(Queue::outbox, nullptr);
}

void SimProcess::add_routes() {
    Routes& routes = core_->routes();
    const auto plain = [this](const Message& message, HandlerContext&) {
        handle(message, nullptr);
    };
    for (const char* topic : {"plain", "far", "free"}) routes.on(TopicName(topic), plain);
    routes.in_transaction(TopicName("tx"), [this](const Message& message, HandlerContext& context) {
        handle(message, &context);
    });
    routes.on_batch(TopicName("batch"), 3,
                    [this](std::span<const Message> messages, HandlerContext&) {
                        std::vector<Verdict> verdicts;
                        for (const Message& message : messages)
                            verdicts.push_back(verdict(message));
                        return verdicts;
                    });
    routes.on_async(TopicName("async"),
                    [this](Delivery delivery) { arrived_ = std::move(delivery); });
}

Saying SimProcess::choose(const Message& message) {
    Dice& dice = world_.dice();
    const bool far = message.topic == "far" || message.topic == "batch";
    if (far && world_.destination_down()) return Saying::down;
    if (!world_.profile().handlers_fail || dice.chance(700)) return Saying::done;
    return dice.chance(850) ? Saying::retry : Saying::fail;
}

Verdict SimProcess::verdict(const Message& message) {
    const Saying saying = choose(message);
    world_.ledger().said(message, saying);
    world_.report().say("p{} message {} handled: {}", life_, message.payload,
                        static_cast<int>(saying));
    switch (saying) {
        case Saying::retry:
            if (world_.dice().chance(500))
                return Verdict::retry(
                    "later", world_.dice().between(Duration::zero(), std::chrono::seconds{5}));
            return Verdict::retry("failed");
        case Saying::fail:
            return Verdict::fail("useless");
        case Saying::down:
            return Verdict::down("destination down");
        default:
            return Verdict::done();
    }
}

void SimProcess::handle(const Message& message, HandlerContext* in_transaction) {
    if (in_transaction != nullptr) {
        NewMessage effect;
        effect.topic = TopicName("plain");
        effect.payload = std::to_string(
            world_.ledger().add({.topic = "plain", .parent = Ledger::number_of(message.payload)}));
        try {
            outbox_.enqueue(in_transaction->transaction(), effect);
        } catch (const Error&) {
            world_.ledger().said(message, Saying::store_failed);
            throw;
        }
    }
    const Verdict what = verdict(message);
    if (what.outcome == Outcome::abandon) {
        if (what.delay) throw RetryAfter(*what.delay, what.error);
        throw std::runtime_error(what.error);
    }
    if (what.outcome == Outcome::fail) throw PermanentFailure(what.error);
    if (what.outcome == Outcome::release) throw DestinationDown(what.error);
}

bool SimProcess::due(Loop loop) const {
    if (!dispatches_ || busy_[place(loop)]) return false;
    if (closing_ && (loop == Loop::claim || loop == Loop::maintain)) return false;
    return wake_at_[place(loop)] <= clock_.now();
}

std::optional<Instant> SimProcess::next_due() const {
    std::optional<Instant> next;
    const auto consider = [&](Instant at) { next = std::min(next.value_or(at), at); };
    if (dispatches_) {
        for (const Loop loop : {Loop::claim, Loop::settle, Loop::keep, Loop::maintain}) {
            const bool stopped = closing_ && (loop == Loop::claim || loop == Loop::maintain);
            const Instant at = wake_at_[place(loop)];
            if (!stopped && at != Instant::max()) consider(at - clock_.offset);
        }
    }
    for (const HandlerAtWork& handler : handlers_) consider(handler.ends);
    for (const OpenTransaction& open : transactions) consider(open.ends);
    return next;
}

void SimProcess::wake(Loop loop) {
    wake_at_[place(loop)] = std::min(wake_at_[place(loop)], clock_.now());
}

void SimProcess::step(Loop loop) {
    const Frame frame(*this);
    const Instant now = clock_.now();
    const std::size_t at = place(loop);
    busy_[at] = true;
    wake_at_[at] = Instant::max();  // woken meanwhile: called again
    Instant next{};
    try {
        switch (loop) {
            case Loop::claim:
                next = core_->claim_step(now);
                break;
            case Loop::settle:
                next = core_->settle_step(now);
                break;
            case Loop::keep:
                next = world_.profile().mutant == Mutant::leases_not_renewed
                           ? Instant::max()
                           : core_->keep_step(now);
                break;
            case Loop::maintain:
                next = core_->maintain_step(now);
                break;
        }
    } catch (const ProcessCrashed&) {
        busy_[at] = false;
        throw;
    }
    busy_[at] = false;
    wake_at_[at] = std::min(wake_at_[at], next);
}

void SimProcess::work() {
    const Frame frame(*this);
    const bool late = world_.profile().mutant == Mutant::started_past_deadline;
    const Duration lease = world_.profile().options.lease;
    std::optional<Work> work = core_->take(clock_.now() - (late ? lease : Duration::zero()));
    if (!work) {
        --awake_;
        return;
    }
    Dice& dice = world_.dice();
    judge_isolation(*work);
    for (const Message& message : work->messages) {
        world_.report().say("p{} message {} started, lease {}", life_, message.payload,
                            message.lease->lease_id.value());
        world_.ledger().started(life_, core_->owner(), message, clock_is_true);
        world_.count_start();
    }
    const bool is_long = !world_.storm_over() && dice.chance(100);
    const Duration takes = is_long ? dice.between(lease / 2, lease * 3)
                                   : dice.between({}, std::chrono::milliseconds{50});
    HandlerAtWork handler{.started = clock_.now(),
                          .ends = world_.time().now() + takes,
                          .isolated = must_be_isolated(work->messages.front())};
    if (world_.profile().mutant == Mutant::ack_before_handler) {
        for (const Message& message : work->messages)
            store_.settle(nullptr, Queue::outbox,
                          std::array{Settlement{.lease = message.lease.value()}});
    }
    if (work->route->async) {
        handler.message = work->messages.front();
        core_->run(std::move(*work));
        handler.delivery = std::move(arrived_);
        arrived_.reset();
    } else {
        handler.work = std::move(*work);
        --awake_;
        ++running_;
    }
    handlers_.push_back(std::move(handler));
}

std::uint32_t SimProcess::losses_of(const Message& message) const {
    const Rows& rows = world_.ledger().rows();
    const auto at = rows.find(Ledger::number_of(message.payload));
    if (at == rows.end() || !at->second.lease) return 0;
    return at->second.lease->lease_id == message.lease->lease_id ? at->second.lost_count : 0;
}

bool SimProcess::must_be_isolated(const Message& message) const {
    return losses_of(message) >= std::min(2U, core_->options().crash_limit);
}

// Nothing runs when an isolated message starts, and nothing starts beside it for a lease. A message
// that was lost at all is not in a batch.
void SimProcess::judge_isolation(const Work& work) {
    const auto violate = [&](const Message& message, const char* what) {
        world_.report().violate(fmt::format("I12 message {} {}", message.payload, what));
    };
    const Message& first = work.messages.front();
    if (must_be_isolated(first) && !handlers_.empty()) violate(first, "started in company");
    for (const HandlerAtWork& other : handlers_)
        if (other.isolated && clock_is_true &&
            clock_.now() - other.started < core_->options().lease)
            violate(first, "started beside an isolated one");
    if (work.messages.size() == 1) return;
    for (const Message& message : work.messages)
        if (losses_of(message) > 0) violate(message, "was lost, and is in a batch");
}

void SimProcess::finish(std::size_t handler) {
    const Frame frame(*this);
    HandlerAtWork ended = std::move(handlers_[handler]);
    handlers_.erase(handlers_.begin() + static_cast<std::ptrdiff_t>(handler));
    if (ended.delivery) return ended.delivery->settle(verdict(ended.message));
    const Message first = ended.work.messages.front();
    core_->run(std::move(ended.work));
    world_.ledger().returned(first);
    --running_;
    ++awake_;
}

void SimProcess::begin_close() {
    closing_ = true;
    world_.report().say("p{} closes", life_);
    if (!dispatches_) return;
    store_.attach(Queue::outbox, nullptr);
    if (world_.profile().mutant != Mutant::close_without_release) core_->begin_close();
}

bool SimProcess::closed() const {
    if (!closing_ || depth_ > 0 || !transactions.empty() || !handlers_.empty()) return false;
    return !dispatches_ || core_->idle();
}

void SimProcess::judge_closed() {
    if (!dispatches_ || world_.profile().faults) return;
    for (const auto& [number, row] : world_.ledger().rows())
        if (row.lease && row.lease->owner == core_->owner())
            world_.report().violate(
                fmt::format("S1 message {} stays leased by a process that was closed", number));
}

void SimProcess::judge_bounds() {
    if (!dispatches_) return;
    const DispatcherStatus status = core_->status();
    const DispatcherOptions& options = core_->options();
    // Waiting, running and to be settled; batches have three messages at most.
    const std::size_t handled = 3 * (options.worker_count + options.async_max);
    const std::size_t held_max =
        2 * (options.hot_capacity + options.cold_capacity + handled) + options.batch + 1;
    if (status.in_flight > held_max || status.hot_depth > options.hot_capacity ||
        status.cold_depth > options.cold_capacity ||
        status.running > options.worker_count + options.async_max)
        world_.report().violate(fmt::format("I10 p{} holds more than it may", life_));
}

// Room in the hot queue that nobody uses must be there to be taken, unless the destination is down.
void SimProcess::judge_credit() {
    if (!dispatches_ || closing_ || core_->options().hot_capacity == 0) return;
    const DispatcherStatus status = core_->status();
    if (!status.open_circuits.empty()) return;
    std::vector<NewMessage> as_many(core_->options().hot_capacity - status.hot_depth);
    for (NewMessage& message : as_many) message.topic = TopicName("plain");
    const std::optional<BornLease> born = core_->reserve(as_many);
    if (!born)
        return world_.report().violate(fmt::format("I10 p{} has lost room in its queue", life_));
    core_->give_back(*born);
}

void SimProcess::fail_call(const char* call, ErrorKind kind) {
    world_.report().say("p{} {} fails: {}", life_, call, to_string(kind));
    throw Error(kind, std::string(call) + ": bad weather");
}

void SimProcess::crash_by_chance() {
    if (world_.faults() && world_.dice().chance(world_.profile().weather.crash_in_call)) {
        world_.report().say("p{} crashes in a call", life_);
        dead_ = true;
    }
    if (dead_) throw ProcessCrashed{};
}

void SimProcess::before_call(const char* call) {
    crash_by_chance();
    const Weather& weather = world_.profile().weather;
    Dice& dice = world_.dice();
    if (world_.faults()) {
        if (dice.chance(weather.call_slow))
            world_.time().advance(
                dice.between(std::chrono::milliseconds{1}, world_.profile().options.lease));
        if (dice.chance(weather.call_fails))
            fail_call(call, dice.chance(500) ? ErrorKind::unavailable : ErrorKind::conflict);
        if (dice.chance(weather.settle_fails) && std::string_view(call) == "settle")
            fail_call(call, ErrorKind::unavailable);
        if (dice.chance(weather.request_lost)) fail_call(call, ErrorKind::outcome_unknown);
    }
    if (dice.chance(weather.threads_switch)) world_.interleave();
    if (dead_) throw ProcessCrashed{};
}

void SimProcess::after_call(const char* call, bool known) {
    const Weather& weather = world_.profile().weather;
    Dice& dice = world_.dice();
    if (dice.chance(weather.threads_switch)) world_.interleave();
    crash_by_chance();
    if (!world_.faults()) return;
    if (dice.chance(weather.call_slow))
        world_.time().advance(
            dice.between(std::chrono::milliseconds{1}, world_.profile().options.lease * 3 / 2));
    if (dice.chance(weather.reply_lost))
        fail_call(call, known ? ErrorKind::unavailable : ErrorKind::outcome_unknown);
}

bool SimProcess::savepoint_rolls_back() { return world_.dice().chance(50); }
bool SimProcess::savepoint_used() { return world_.dice().chance(150); }

// What is told must be true.
void SimProcess::observe(const Event& event) noexcept {
    world_.report().say("p{} event {} of seq {}, count {} {}", life_, static_cast<int>(event.kind),
                        event.message == nullptr ? 0 : event.message->id.seq(), event.count,
                        event.error);
    const bool delivered = event.kind == EventKind::delivered;
    if (!delivered && event.kind != EventKind::dead) return;
    for (const auto& [number, row] : world_.ledger().rows()) {
        if (row.id != event.message->id) continue;
        if (row.state != (delivered ? State::done : State::dead))
            world_.report().violate(fmt::format("I11 message {} is told to be final", number));
    }
}

}  // namespace postroom::sim
