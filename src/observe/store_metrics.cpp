#include "postroom/store_metrics.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "base/mutex.hpp"
#include "observe/store_counters.hpp"
#include "postroom/clock.hpp"

namespace postroom {

namespace {

constexpr const char* others = "other";

struct OfStore {
    Metrics counted{};
    StoreCounters counters{};  // without what `counted` has
    std::uint64_t look = 0;    // that the sample is of; they are numbered as they begin
};

StoreSample look_at(Store& store) {
    const SystemClock here;
    StoreSample sample;
    const Instant before = here.now();
    const Instant there = store.now();
    sample.at = here.now();
    // Half of the way there and back is taken for the way back.
    sample.clock_offset = there - (before + (sample.at - before) / 2);
    sample.outbox = store.counts(Queue::outbox);
    sample.inbox = store.counts(Queue::inbox);
    if (sample.outbox.oldest)
        sample.outbox_oldest = std::max(there - *sample.outbox.oldest, Duration{});
    if (sample.inbox.oldest)
        sample.inbox_oldest = std::max(there - *sample.inbox.oldest, Duration{});
    sample.up = true;
    return sample;
}

void add_to(MetricsSnapshot& sum, const MetricsSnapshot& more) {
    for (const auto member : {&MetricsSnapshot::enqueued,
                              &MetricsSnapshot::duplicates,
                              &MetricsSnapshot::hash_mismatches,
                              &MetricsSnapshot::hot_enqueued,
                              &MetricsSnapshot::hot_dropped,
                              &MetricsSnapshot::cold_enqueued,
                              &MetricsSnapshot::claims,
                              &MetricsSnapshot::empty_claims,
                              &MetricsSnapshot::dispatch_success,
                              &MetricsSnapshot::dispatch_failure,
                              &MetricsSnapshot::dispatch_dead,
                              &MetricsSnapshot::released,
                              &MetricsSnapshot::unroutable,
                              &MetricsSnapshot::lost,
                              &MetricsSnapshot::stale_settles,
                              &MetricsSnapshot::reaped,
                              &MetricsSnapshot::purged,
                              &MetricsSnapshot::circuit_opened,
                              &MetricsSnapshot::interceptor_failures,
                              &MetricsSnapshot::store_failures,
                              &MetricsSnapshot::hot_depth,
                              &MetricsSnapshot::cold_depth,
                              &MetricsSnapshot::hot_capacity,
                              &MetricsSnapshot::cold_capacity,
                              &MetricsSnapshot::in_flight})
        sum.*member += more.*member;
    sum.oldest_lag = std::max(sum.oldest_lag, more.oldest_lag);
    for (std::size_t i = 0; i < sum.latency.counts.size(); ++i)
        sum.latency.counts[i] += more.latency.counts[i];
    sum.latency.sum += more.latency.sum;
}

}  // namespace

struct StoreMetrics::Figures {
    explicit Figures(StoreMetricsOptions given) : options(std::move(given)) {}

    const StoreMetricsOptions options;
    mutable base::Mutex mutex;
    std::map<std::string, OfStore, std::less<>> stores POSTROOM_GUARDED_BY(mutex);
    std::atomic<std::uint64_t> looks{0};

    OfStore& of(std::string_view store) POSTROOM_REQUIRES(mutex) {
        const auto known = stores.find(store);
        return known != stores.end() ? known->second
                                     : stores.try_emplace(std::string(store)).first->second;
    }

    TopicCounters& topic_of(QueueCounters& queue, const std::string& topic) const {
        const auto known = queue.topics.find(topic);
        if (known != queue.topics.end()) return known->second;
        const bool full = queue.topics.size() >= options.topics_max;
        const auto [at, is_new] = queue.topics.try_emplace(full ? others : topic);
        if (is_new && !full && options.destination_of)
            at->second.destination = options.destination_of(topic);
        return at->second;
    }

    // Of those beyond the limit the last news counts.
    DestinationCounters& destination_of(QueueCounters& queue, std::string_view name) const {
        const auto known = queue.destinations.find(name);
        if (known != queue.destinations.end()) return known->second;
        const bool full = queue.destinations.size() >= options.topics_max;
        return queue.destinations[full ? others : std::string(name)];
    }

    // Topics that are counted together may go to different places.
    void count_send(QueueCounters& queue, const TopicCounters& counted, const Event& event) const {
        if (!options.destination_of) return;
        const std::string to = counted.destination.empty()
                                   ? options.destination_of(event.message->topic)
                                   : counted.destination;
        if (!to.empty()) queue.sends[to].add(event.duration);
    }

    void count_delivered(StoreCounters& counters, const Event& event) const {
        QueueCounters& queue = counters.of(event.queue);
        TopicCounters& topic = topic_of(queue, event.message->topic);
        ++topic.delivered;
        count_send(queue, topic, event);
        const Duration offset = counters.sample ? counters.sample->clock_offset : Duration{};
        if (event.message->created_at != Instant{})
            queue.end_to_end.add(SystemClock().now() + offset - event.message->created_at);
    }

    void count(OfStore& store, const Event& event) const {
        StoreCounters& counters = store.counters;
        QueueCounters& queue = counters.of(event.queue);
        switch (event.kind) {
            case EventKind::claimed:
                return queue.claim.add(event.duration);
            case EventKind::delivered:
                return count_delivered(counters, event);
            case EventKind::retried:
                ++topic_of(queue, event.message->topic).failed;
                return;
            case EventKind::dead:
                ++topic_of(queue, event.message->topic).dead;
                return;
            case EventKind::circuit_opened: {
                DestinationCounters& to = destination_of(queue, event.destination);
                to.open = true;
                ++to.times_opened;
                return;
            }
            case EventKind::circuit_closed:
                destination_of(queue, event.destination).open = false;
                return;
            default:
                return;
        }
    }

    // Calls `use` with the name and figures of each store, under the lock for one at a time: what
    // happens meanwhile waits for one of a thousand stores at most.
    template <class F>
    void for_each_store(F use) const {
        std::optional<std::string> last;
        while (true) {
            const base::MutexLock lock(mutex);
            const auto at = last ? stores.upper_bound(*last) : stores.begin();
            if (at == stores.end()) return;
            use(at->first, at->second);
            last = at->first;
        }
    }

    StoresCounters copy() const {
        StoresCounters out;
        for_each_store([&](const std::string& id, const OfStore& store) {
            StoreCounters& counters = out.try_emplace(id, store.counters).first->second;
            for (const Queue queue : both_queues)
                counters.of(queue).counted = store.counted.snapshot(queue);
        });
        return out;
    }
};

StoreMetrics::StoreMetrics(StoreMetricsOptions options)
    : figures_(std::make_unique<Figures>(std::move(options))) {}

StoreMetrics::~StoreMetrics() = default;

void StoreMetrics::observe(const Event& event) noexcept {
    const base::MutexLock lock(figures_->mutex);
    OfStore& store = figures_->of(event.store);
    store.counted.observe(event);
    figures_->count(store, event);
}

void StoreMetrics::sample(Store& store) noexcept {
    StoreSample sample;
    const std::uint64_t look = ++figures_->looks;
    try {
        sample = look_at(store);
    } catch (const std::exception& error) {
        sample.at = SystemClock().now();
        sample.error = error.what();
    }
    // One that began earlier and took longer knows less.
    const base::MutexLock lock(figures_->mutex);
    OfStore& known = figures_->of(store.id());
    if (look < known.look) return;
    known.look = look;
    known.counters.sample = std::move(sample);
}

void StoreMetrics::down(const std::string& store, const std::string& error) {
    const base::MutexLock lock(figures_->mutex);
    OfStore& of = figures_->of(store);
    of.look = ++figures_->looks;  // a look that began before says less
    of.counters.sample = StoreSample{.error = error, .at = SystemClock().now()};
}

void StoreMetrics::schema_version(const std::string& store, int version) {
    const base::MutexLock lock(figures_->mutex);
    figures_->of(store).counters.schema_version = version;
}

void StoreMetrics::forget(const std::string& store) {
    const base::MutexLock lock(figures_->mutex);
    figures_->stores.erase(store);
}

std::vector<StoreFigures> StoreMetrics::stores() const {
    std::vector<StoreFigures> out;
    figures_->for_each_store([&](const std::string& id, const OfStore& store) {
        out.push_back({.store = id,
                       .outbox = store.counted.snapshot(Queue::outbox),
                       .inbox = store.counted.snapshot(Queue::inbox),
                       .sample = store.counters.sample});
    });
    return out;
}

std::vector<TopicFigures> StoreMetrics::topics() const {
    std::vector<TopicFigures> out;
    figures_->for_each_store([&](const std::string& id, const OfStore& store) {
        for (const Queue queue : both_queues)
            for (const auto& [topic, counted] : store.counters.of(queue).topics)
                out.push_back({.store = id,
                               .queue = queue,
                               .topic = topic,
                               .destination = counted.destination,
                               .delivered = counted.delivered,
                               .failed = counted.failed,
                               .dead = counted.dead});
    });
    return out;
}

std::vector<DestinationFigures> StoreMetrics::destinations() const {
    std::vector<DestinationFigures> out;
    figures_->for_each_store([&](const std::string& id, const OfStore& store) {
        for (const auto& [destination, sends] : store.counters.of(Queue::outbox).sends)
            out.push_back({.store = id,
                           .destination = destination,
                           .latency = {.counts = sends.counts, .sum = sends.sum}});
    });
    return out;
}

MetricsSnapshot StoreMetrics::total(Queue queue) const {
    MetricsSnapshot sum;
    for (const StoreFigures& store : stores()) add_to(sum, store.figures(queue));
    return sum;
}

std::string StoreMetrics::prometheus() const {
    return prometheus_text(figures_->copy(), figures_->options.version);
}

}  // namespace postroom
