#include "admin/http/views.hpp"

#include <algorithm>
#include <array>

#include "admin/http/sources.hpp"
#include "admin/json_view.hpp"
#include "admin/pauses.hpp"
#include "base/json_writer.hpp"

namespace postroom::admin {

namespace {

using base::JsonArray;
using base::JsonObject;

constexpr std::array both_queues{Queue::outbox, Queue::inbox};
constexpr std::size_t overview_topics_max = 200;

std::string rates_view(const Rates& rates, std::optional<double> arriving = std::nullopt) {
    return JsonObject()
        .add("delivered", rates.delivered)
        .add("failed", rates.failed)
        .add("dead", rates.dead)
        .add("arriving", arriving)
        .text();
}

std::string totals_view(const MetricsSnapshot& figures, std::uint64_t duplicates) {
    return JsonObject()
        .add("delivered", figures.dispatch_success)
        .add("failed", figures.dispatch_failure)
        .add("dead", figures.dispatch_dead)
        .add("duplicates", duplicates)
        .add("lost", figures.lost)
        .text();
}

void add_percentiles(JsonObject& out, const Percentiles& latency) {
    out.add("p50_seconds", seconds(latency.p50)).add("p99_seconds", seconds(latency.p99));
}

std::string latency_view(const Percentiles& latency) {
    JsonObject out;
    add_percentiles(out, latency);
    return out.text();
}

// None while the backlog does not shrink.
std::optional<double> drained_in(const Counts& counts, const QueueTraffic& traffic) {
    const double shrinks =
        traffic.rates.delivered + traffic.rates.dead - traffic.arriving.value_or(0);
    const std::uint64_t waiting = backlog_of(counts);
    if (waiting == 0 || !traffic.arriving || shrinks <= 0) return std::nullopt;
    return static_cast<double>(waiting) / shrinks;
}

// `duplicates`: of the inbox.
std::string queue_view(Queue queue, const StoreFigures& store, const QueueTraffic& traffic,
                       std::uint64_t duplicates) {
    JsonObject out;
    out.add("queue", to_string(queue));
    if (store.sample && store.sample->up) {
        const Counts& counts = store.sample->counts(queue);
        out.add_json("backlog", backlog_view(counts)).add("counted_at", store.sample->at);
        if (const std::optional<Duration>& oldest = store.sample->oldest(queue))
            out.add("oldest_age_seconds", seconds(*oldest));
        out.add("drained_in_seconds", drained_in(counts, traffic));
    }
    out.add_json("rates", rates_view(traffic.rates, traffic.arriving));
    const MetricsSnapshot& figures = store.figures(queue);
    out.add_json("totals",
                 totals_view(figures, queue == Queue::inbox ? duplicates : figures.duplicates));
    out.add("failure_ratio", traffic.failure_ratio);
    if (traffic.latency) out.add_json("latency", latency_view(*traffic.latency));
    return out.text();
}

std::string stores_view(const Context& context) {
    const auto traffic = context.traffic.queues();
    std::map<std::string, std::uint64_t> duplicates =
        sources_of(context, context.stores.stores()).duplicates();
    JsonArray out;
    for (const StoreFigures& store : context.metrics.stores()) {
        if (!context.has_store(store.store)) continue;
        JsonArray queues;
        for (const Queue queue : both_queues) {
            const auto at = traffic.find({store.store, queue});
            queues.add_json(queue_view(queue, store,
                                       at == traffic.end() ? QueueTraffic{} : at->second,
                                       duplicates[store.store]));
        }
        JsonObject view;
        view.add("store", store.store).add("up", store.sample && store.sample->up);
        if (store.sample) view.add_text("error", store.sample->error);
        out.add_json(view.add_json("queues", queues.text()).text());
    }
    return out.text();
}

std::string series_view(const Context& context) {
    JsonArray out;
    for (const TrafficPoint& point : context.traffic.series()) {
        JsonObject view;
        view.add("at", point.at).add("delivered", point.rates.delivered);
        view.add("failed", point.rates.failed).add("dead", point.rates.dead);
        view.add("backlog", point.backlog);
        if (point.latency) add_percentiles(view, *point.latency);
        out.add_json(view.text());
    }
    return out.text();
}

std::string topic_view(const TopicFigures& topic, const Rates& rates,
                       const std::optional<PausedTopic>& pause) {
    return JsonObject()
        .add("store", topic.store)
        .add("topic", topic.topic)
        .add("paused", pause.has_value())
        .add("paused_since", pause ? std::optional(pause->since) : std::nullopt)
        .add_text("paused_by", pause ? pause->topic : "")
        .add_text("destination", topic.destination)
        .add_json("rates", rates_view(rates))
        .add_json("totals", JsonObject()
                                .add("delivered", topic.delivered)
                                .add("failed", topic.failed)
                                .add("dead", topic.dead)
                                .text())
        .text();
}

// Those that were delivered here, and what is paused (patterns too): by store and name.
std::map<std::pair<std::string, std::string>, TopicFigures> known_topics(
    const Context& context, const std::map<std::string, StoreView>& views,
    const std::optional<std::string>& store) {
    std::map<std::pair<std::string, std::string>, TopicFigures> out;
    for (TopicFigures& topic : context.metrics.topics())
        if (topic.queue == Queue::outbox && (!store || topic.store == *store))
            out.emplace(std::pair{topic.store, topic.topic}, std::move(topic));
    for (const auto& [id, view] : views)
        for (const PausedTopic& paused : view.paused)
            if (!store || id == *store)
                out.try_emplace(std::pair{id, paused.topic},
                                TopicFigures{.store = id,
                                             .topic = paused.topic,
                                             .destination = context.destination_of(paused.topic)});
    return out;
}

std::string circuit_view(const DestinationReport::Circuit& circuit) {
    return JsonObject()
        .add("store", circuit.store)
        .add("worker", circuit.worker->owner.to_string())
        .add_text("host", circuit.worker->host)
        .add("state", circuit.open ? "open" : "probing")
        .add("since", circuit.report.since)
        .add("next_probe_at", circuit.report.next_probe)
        .add_text("last_error", circuit.report.error)
        .text();
}

}  // namespace

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string backlog_view(const Counts& counts) {
    return JsonObject()
        .add("ready", counts.ready)
        .add("in_progress", counts.in_progress)
        .add("dead", counts.dead)
        .add("seen", counts.seen)
        .add("retrying", counts.retrying)
        .add("old_failures", counts.old_failures)
        .add("estimated", counts.estimated)
        .text();
}

std::string worker_view(const Context& context, const std::string& store,
                        const WorkerReport& worker) {
    JsonArray circuits;
    for (const CircuitReport& circuit : worker.circuits)
        circuits.add_json(
            JsonObject()
                .add("destination", circuit.destination)
                .add("state", circuit.next_probe > worker.last_seen ? "open" : "probing")
                .add("since", circuit.since)
                .add("next_probe_at", circuit.next_probe)
                .add_text("last_error", circuit.error)
                .add_json("topics", texts_view(circuit.topics))
                .text());
    const Dispatcher* const ours = context.options.dispatcher;
    JsonObject out;
    out.add("store", store)
        .add("owner_token", worker.owner.to_string())
        .add("host", worker.host)
        .add("pid", std::int64_t{worker.pid})
        .add("version", worker.version)
        .add("queue", to_string(worker.queue))
        .add("started_at", worker.started)
        .add("last_seen", worker.last_seen)
        .add("this_process", ours != nullptr && ours->owner() == worker.owner)
        .add_json("topics", texts_view(worker.topics))
        .add("in_hand", worker.in_hand)
        .add("delivered_per_second", worker.delivered_per_second)
        .add("failed_per_second", worker.failed_per_second)
        .add_json("circuits", circuits.text());
    if (worker.lease > Duration::zero()) out.add("lease_seconds", seconds(worker.lease));
    return out.text();
}

std::string topics_view(const Context& context, const std::optional<std::string>& store,
                        std::size_t topics_max) {
    const std::map<std::string, StoreView> views = context.watch.views();
    const auto rates = context.traffic.topics();
    std::vector<TopicFigures> topics;
    for (auto& [key, topic] : known_topics(context, views, store))
        topics.push_back(std::move(topic));
    if (topics.size() > topics_max) {
        std::ranges::stable_sort(topics, std::ranges::greater{}, &TopicFigures::delivered);
        topics.resize(topics_max);
    }
    JsonArray out;
    for (const TopicFigures& topic : topics) {
        std::optional<PausedTopic> pause;
        if (const auto view = views.find(topic.store); view != views.end())
            pause = pause_of(view->second.paused, topic.topic);
        const auto at = rates.find({topic.store, topic.queue, topic.topic});
        out.add_json(topic_view(topic, at == rates.end() ? Rates{} : at->second, pause));
    }
    return out.text();
}

const DestinationReport::Circuit* DestinationReport::worst() const {
    const Circuit* worst = nullptr;
    for (const Circuit& circuit : circuits)
        if (worst == nullptr || (circuit.open && !worst->open) ||
            (circuit.open == worst->open && circuit.report.since < worst->report.since))
            worst = &circuit;
    return worst;
}

std::vector<DestinationReport> destinations_of(const Context& context,
                                               const std::map<std::string, StoreView>& views) {
    std::map<std::string, DestinationReport> found;
    for (const AdminRoute& route : context.options.routes) {
        DestinationReport& one = found[route.destination];
        one.sink = route.sink;
        one.patterns.push_back(route.pattern);
    }
    for (const auto& [id, view] : views)
        for (const WorkerReport& worker : view.workers)
            for (const CircuitReport& circuit : worker.circuits)
                found[circuit.destination].circuits.push_back(
                    {.store = id,
                     .worker = &worker,
                     .report = circuit,
                     .open = circuit.next_probe > view.now});
    std::vector<DestinationReport> out;
    for (auto& [destination, one] : found) {
        one.destination = destination;
        out.push_back(std::move(one));
    }
    return out;
}

std::string destinations_view(const Context& context) {
    const std::map<std::string, StoreView> views = context.watch.views();
    const std::map<std::string, Percentiles> latencies = context.traffic.destinations();
    JsonArray out;
    for (const DestinationReport& one : destinations_of(context, views)) {
        JsonArray patterns;
        for (const std::string& pattern : one.patterns) patterns.add(pattern);
        JsonArray circuits;
        for (const DestinationReport::Circuit& circuit : one.circuits)
            circuits.add_json(circuit_view(circuit));
        const DestinationReport::Circuit* const worst = one.worst();
        JsonObject view;
        view.add("destination", one.destination).add_text("sink", one.sink);
        view.add_json("topics", patterns.text());
        if (const auto at = latencies.find(one.destination); at != latencies.end())
            view.add_json("latency", latency_view(at->second));
        view.add("state", worst == nullptr ? "closed" : worst->open ? "open" : "probing");
        if (worst != nullptr)
            view.add("since", worst->report.since)
                .add("next_probe_at", worst->report.next_probe)
                .add_text("last_error", worst->report.error);
        out.add_json(view.add_json("circuits", circuits.text()).text());
    }
    return out.text();
}

std::string overview_view(const Context& context, Series series) {
    JsonObject out;
    out.add("at", context.clock.now()).add("version", context.options.version);
    out.add("started_at", context.started_at);
    out.add_json("stores", stores_view(context));
    out.add_json("topics", topics_view(context, std::nullopt, overview_topics_max));
    out.add_json("destinations", destinations_view(context));
    if (series == Series::told) out.add_json("series", series_view(context));
    return out.text();
}

}  // namespace postroom::admin
