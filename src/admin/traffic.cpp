#include "admin/traffic.hpp"

#include <algorithm>
#include <array>

namespace postroom::admin {

namespace {

constexpr Duration rate_window = std::chrono::minutes{1};
constexpr std::size_t points_max = 120;
constexpr std::array both_queues{Queue::outbox, Queue::inbox};

double per_second(std::uint64_t before, std::uint64_t now, Duration elapsed) {
    const double seconds = std::chrono::duration<double>(elapsed).count();
    return seconds <= 0 || now < before ? 0.0 : static_cast<double>(now - before) / seconds;
}

Rates rates_between(const MetricsSnapshot& before, const MetricsSnapshot& now, Duration elapsed) {
    return {.delivered = per_second(before.dispatch_success, now.dispatch_success, elapsed),
            .failed = per_second(before.dispatch_failure, now.dispatch_failure, elapsed),
            .dead = per_second(before.dispatch_dead, now.dispatch_dead, elapsed)};
}

LatencyHistogram difference(const LatencyHistogram& before, const LatencyHistogram& now) {
    LatencyHistogram out{.counts = now.counts, .sum = now.sum - before.sum};
    for (std::size_t i = 0; i < out.counts.size(); ++i) out.counts[i] -= before.counts[i];
    return out;
}

void add_to(LatencyHistogram& sum, const LatencyHistogram& more) {
    for (std::size_t i = 0; i < sum.counts.size(); ++i) sum.counts[i] += more.counts[i];
    sum.sum += more.sum;
}

Duration percentile(const LatencyHistogram& histogram, double part) {
    const double wanted = part * static_cast<double>(histogram.count());
    double below = 0;
    Duration lower{};
    for (std::size_t i = 0; i < latency_bucket_bounds.size(); ++i) {
        const auto here = static_cast<double>(histogram.counts[i]);
        const Duration upper = latency_bucket_bounds[i];
        if (here > 0 && below + here >= wanted)
            return lower +
                   std::chrono::duration_cast<Duration>(
                       std::chrono::duration<double>(upper - lower) * ((wanted - below) / here));
        below += here;
        lower = upper;
    }
    return latency_bucket_bounds.back();
}

template <class Map, class Key>
typename Map::mapped_type found(const Map& map, const Key& key) {
    const auto at = map.find(key);
    return at == map.end() ? typename Map::mapped_type{} : at->second;
}

// What the queue had done by then; nothing when its store was forgotten since and began anew.
template <class Map>
MetricsSnapshot earlier_figures(const Map& before, const typename Map::value_type& now) {
    const MetricsSnapshot earlier = found(before, now.first);
    const bool began_anew = now.second.dispatch_success < earlier.dispatch_success ||
                            now.second.dispatch_failure < earlier.dispatch_failure ||
                            now.second.dispatch_dead < earlier.dispatch_dead;
    return began_anew ? MetricsSnapshot{} : earlier;
}

}  // namespace

std::uint64_t backlog_of(const Counts& counts) { return counts.ready + counts.in_progress; }

std::optional<Percentiles> percentiles_of(const LatencyHistogram& histogram) {
    if (histogram.count() == 0) return std::nullopt;
    return Percentiles{.p50 = percentile(histogram, 0.50), .p99 = percentile(histogram, 0.99)};
}

void Traffic::note(Instant now, const StoreMetrics& metrics) {
    Note note{.at = now};
    for (const StoreFigures& store : metrics.stores())
        for (const Queue queue : both_queues) {
            const QueueKey key{store.store, queue};
            note.queues[key] = store.figures(queue);
            if (store.sample && store.sample->up)
                note.backlogs[key] = backlog_of(store.sample->counts(queue));
        }
    for (TopicFigures& topic : metrics.topics())
        note.topics.emplace(TopicKey{topic.store, topic.queue, topic.topic}, std::move(topic));
    for (DestinationFigures& one : metrics.destinations())
        note.destinations.emplace(DestinationKey{one.store, one.destination}, one.latency);
    const base::MutexLock lock(mutex_);
    if (!notes_.empty()) add_point(notes_.back(), note);
    notes_.push_back(std::move(note));
    while (notes_.size() > 2 && notes_[1].at + rate_window <= now) notes_.pop_front();
}

void Traffic::add_point(const Note& before, const Note& now) {
    MetricsSnapshot earlier;
    MetricsSnapshot later;
    const auto add = [](MetricsSnapshot& sum, const MetricsSnapshot& more) {
        sum.dispatch_success += more.dispatch_success;
        sum.dispatch_failure += more.dispatch_failure;
        sum.dispatch_dead += more.dispatch_dead;
        add_to(sum.latency, more.latency);
    };
    // What a store did that has left since is in neither, or the rest would seem to have undone it.
    for (const auto& queue : now.queues) {
        add(earlier, earlier_figures(before.queues, queue));
        add(later, queue.second);
    }
    TrafficPoint point{.at = now.at,
                       .rates = rates_between(earlier, later, now.at - before.at),
                       .latency = percentiles_of(difference(earlier.latency, later.latency))};
    if (!now.backlogs.empty()) {
        point.backlog = 0;
        for (const auto& [key, count] : now.backlogs) *point.backlog += count;
    }
    series_.push_back(std::move(point));
    if (series_.size() > points_max) series_.pop_front();
}

std::map<Traffic::QueueKey, QueueTraffic> Traffic::queues() const {
    const base::MutexLock lock(mutex_);
    std::map<QueueKey, QueueTraffic> out;
    if (notes_.empty()) return out;
    const Note& before = notes_.front();
    const Note& now = notes_.back();
    const Duration elapsed = now.at - before.at;
    for (const auto& queue : now.queues) {
        const auto& [key, later] = queue;
        const MetricsSnapshot earlier = earlier_figures(before.queues, queue);
        QueueTraffic traffic{.rates = rates_between(earlier, later, elapsed),
                             .failure_ratio = failure_ratio(earlier, later),
                             .latency = percentiles_of(difference(earlier.latency, later.latency)),
                             .window = elapsed};
        if (before.backlogs.contains(key) && now.backlogs.contains(key) &&
            elapsed > Duration::zero()) {
            const double grown = static_cast<double>(now.backlogs.at(key)) -
                                 static_cast<double>(before.backlogs.at(key));
            const double seconds = std::chrono::duration<double>(elapsed).count();
            traffic.arriving =
                std::max(0.0, traffic.rates.delivered + traffic.rates.dead + grown / seconds);
        }
        out.emplace(key, traffic);
    }
    return out;
}

std::map<Traffic::TopicKey, Rates> Traffic::topics() const {
    const base::MutexLock lock(mutex_);
    std::map<TopicKey, Rates> out;
    if (notes_.empty()) return out;
    const Note& before = notes_.front();
    const Note& now = notes_.back();
    const Duration elapsed = now.at - before.at;
    for (const auto& [key, later] : now.topics) {
        const TopicFigures earlier = found(before.topics, key);
        out.emplace(key, Rates{.delivered = per_second(earlier.delivered, later.delivered, elapsed),
                               .failed = per_second(earlier.failed, later.failed, elapsed),
                               .dead = per_second(earlier.dead, later.dead, elapsed)});
    }
    return out;
}

std::map<std::string, Percentiles> Traffic::destinations() const {
    const base::MutexLock lock(mutex_);
    std::map<std::string, LatencyHistogram> sums;
    if (notes_.empty()) return {};
    for (const auto& [key, later] : notes_.back().destinations) {
        const LatencyHistogram earlier = found(notes_.front().destinations, key);
        const bool began_anew = later.count() < earlier.count();
        add_to(sums[key.second], difference(began_anew ? LatencyHistogram{} : earlier, later));
    }
    std::map<std::string, Percentiles> out;
    for (const auto& [destination, sum] : sums)
        if (const std::optional<Percentiles> known = percentiles_of(sum))
            out.emplace(destination, *known);
    return out;
}

std::vector<TrafficPoint> Traffic::series() const {
    const base::MutexLock lock(mutex_);
    return {series_.begin(), series_.end()};
}

}  // namespace postroom::admin
