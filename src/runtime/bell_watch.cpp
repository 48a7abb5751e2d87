#include "runtime/bell_watch.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace postroom {

namespace {

// A look is two system calls. At this pace the looks at a thousand stores take less than a
// hundredth of a core.
constexpr Duration pause_per_bell = std::chrono::microseconds{500};
constexpr Duration round_min = std::chrono::milliseconds{10};
constexpr Duration round_max = std::chrono::seconds{1};
constexpr Duration tick_max = std::chrono::milliseconds{50};
// Among so many bells, one that has been silent for so long is passed over in all rounds but every
// fourth.
constexpr std::size_t many_bells = 100;
constexpr Duration silence_before_rest = std::chrono::seconds{30};
constexpr std::size_t rest_rounds = 4;

Duration round_of(std::size_t bells) {
    return std::clamp(pause_per_bell * static_cast<std::int64_t>(bells), round_min, round_max);
}

}  // namespace

BellWatch::BellWatch(Calls calls)
    : calls_(std::move(calls)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

BellWatch::~BellWatch() { stop(); }

void BellWatch::stop() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    pipe_.wake();
    thread_.join();
}

void BellWatch::add(const ServedStorePtr& store) {
    {
        const base::MutexLock lock(mutex_);
        const int descriptor = store->bell->descriptor();
        watched_.push_back(
            {.store = store, .descriptor = descriptor, .rang = monotonic_clock().now()});
        if (descriptor < 0) ++silent_;
    }
    pipe_.wake();
}

void BellWatch::remove(const ServedStore& store) {
    const base::MutexLock lock(mutex_);
    forget(store);
}

void BellWatch::forget(const ServedStore& store) {
    for (auto at = watched_.begin(); at != watched_.end(); ++at) {
        if (at->store.get() != &store) continue;
        if (at->descriptor < 0) --silent_;
        watched_.erase(at);
        return;
    }
}

void BellWatch::run(const std::stop_token& stop) {
    std::vector<int> readable;
    while (!stop.stop_requested()) {
        wait(readable);
        if (stop.stop_requested()) return;
        const Answers answers = look(readable);
        for (const ServedStorePtr& store : answers.rung) calls_.rung(*store);
        for (const auto& [store, error] : answers.broken) calls_.broken(*store, error);
    }
}

Duration BellWatch::tick() const {
    return silent_ == 0 ? round_max : std::min(round_of(silent_), tick_max);
}

std::size_t BellWatch::looks_per_tick() const {
    const auto ticks = static_cast<std::size_t>(round_of(silent_) / tick());
    return (watched_.size() + ticks - 1) / std::max<std::size_t>(ticks, 1);
}

void BellWatch::wait(std::vector<int>& readable) {
    std::vector<pollfd> polled{{.fd = pipe_.descriptor(), .events = POLLIN, .revents = 0}};
    Duration pause{};
    {
        const base::MutexLock lock(mutex_);
        for (const Watched& watched : watched_)
            if (watched.descriptor >= 0)
                polled.push_back({.fd = watched.descriptor, .events = POLLIN, .revents = 0});
        pause = tick();
    }
    readable.clear();
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(pause).count();
    if (::poll(polled.data(), polled.size(), static_cast<int>(milliseconds)) <= 0) return;
    for (const pollfd& one : polled) {
        if (one.revents == 0) continue;
        if (one.fd == pipe_.descriptor()) {
            pipe_.take();
        } else {
            readable.push_back(one.fd);
        }
    }
}

BellWatch::Answers BellWatch::look(const std::vector<int>& readable) {
    Answers answers;
    const base::MutexLock lock(mutex_);
    if (!readable.empty()) {
        for (std::size_t i = 0; i < watched_.size(); ++i)
            if (std::find(readable.begin(), readable.end(), watched_[i].descriptor) !=
                readable.end())
                look_at(i, answers);
    }
    const std::size_t looks = silent_ == 0 ? 0 : std::min(looks_per_tick(), watched_.size());
    const Instant now = monotonic_clock().now();
    for (std::size_t n = 0; n < looks; ++n) {
        cursor_ = (cursor_ + 1) % watched_.size();
        if (cursor_ == 0) ++round_;
        if (watched_[cursor_].descriptor < 0 && !rests(cursor_, now)) look_at(cursor_, answers);
    }
    for (const auto& broken : answers.broken) forget(*broken.first);
    return answers;
}

bool BellWatch::rests(std::size_t place, Instant now) const {
    return silent_ > many_bells && now - watched_[place].rang > silence_before_rest &&
           (round_ + place) % rest_rounds != 0;
}

void BellWatch::look_at(std::size_t place, Answers& answers) {
    const ServedStorePtr& store = watched_[place].store;
    try {
        if (!store->bell->look()) return;
        watched_[place].rang = monotonic_clock().now();
        answers.rung.push_back(store);
    } catch (const std::exception& error) {
        answers.broken.emplace_back(store, error.what());
    }
}

}  // namespace postroom
