#include "observe/store_counters.hpp"

#include <initializer_list>
#include <utility>

namespace postroom {

namespace {

struct Counter {
    const char* name;
    const char* help;
    std::uint64_t MetricsSnapshot::*member;
};

void write_counters(Exposition& out, const StoresCounters& stores, Exposition::Type type,
                    std::initializer_list<Counter> counters) {
    for (const Counter& counter : counters) {
        out.family(counter.name, type, counter.help);
        for (const auto& [id, store] : stores)
            for (const Queue queue : both_queues)
                out.sample({{"store", id}, {"queue", to_string(queue)}},
                           store.of(queue).counted.*counter.member);
    }
}

// Of a queue that has no room, or of which nobody has told, there is no ratio.
void write_capacity_ratio(Exposition& out, const StoresCounters& stores) {
    out.family("postroom_queue_capacity_ratio", Exposition::Type::gauge,
               "How full the queues in memory are, from 0 to 1: of messages handed over (hot) and "
               "of claimed ones (cold).");
    for (const auto& [id, store] : stores)
        for (const Queue queue : both_queues) {
            const MetricsSnapshot& told = store.of(queue).counted;
            const auto sample = [&, name = id](const char* path, std::uint64_t depth,
                                               std::uint64_t capacity) {
                if (capacity == 0) return;
                out.sample({{"store", name}, {"queue", to_string(queue)}, {"path", path}},
                           static_cast<double>(depth) / static_cast<double>(capacity));
            };
            sample("hot", told.hot_depth, told.hot_capacity);
            sample("cold", told.cold_depth, told.cold_capacity);
        }
}

void write_topics(Exposition& out, const StoresCounters& stores) {
    struct Family {
        const char* name;
        const char* help;
        std::uint64_t TopicCounters::*member;
    };
    for (const Family& family :
         {Family{"postroom_delivered_total", "Messages delivered.", &TopicCounters::delivered},
          Family{"postroom_dead_total", "Messages that died.", &TopicCounters::dead}}) {
        out.family(family.name, Exposition::Type::counter, family.help);
        for (const auto& [id, store] : stores)
            for (const Queue queue : both_queues)
                for (const auto& [topic, counted] : store.of(queue).topics)
                    out.sample({{"store", id},
                                {"queue", to_string(queue)},
                                {"topic", topic},
                                {"sink", counted.destination}},
                               counted.*family.member);
    }
}

void write_failures(Exposition& out, const StoresCounters& stores) {
    out.family("postroom_delivery_failures_total", Exposition::Type::counter,
               "Deliveries that failed and will be repeated: by the message's fault, or because "
               "the destination was down.");
    for (const auto& [id, store] : stores)
        for (const Queue queue : both_queues) {
            for (const auto& [topic, counted] : store.of(queue).topics)
                out.sample({{"store", id},
                            {"queue", to_string(queue)},
                            {"topic", topic},
                            {"sink", counted.destination},
                            {"class", "message"}},
                           counted.failed);
            for (const auto& [destination, counted] : store.of(queue).destinations)
                out.sample({{"store", id},
                            {"queue", to_string(queue)},
                            {"topic", ""},
                            {"sink", destination},
                            {"class", "destination"}},
                           counted.times_opened);
        }
}

void write_histograms(Exposition& out, const StoresCounters& stores) {
    const auto write = [&](const char* name, const char* help, auto histogram_of) {
        out.family(name, Exposition::Type::histogram, help);
        for (const auto& [id, store] : stores)
            for (const Queue queue : both_queues)
                out.histogram({{"store", id}, {"queue", to_string(queue)}},
                              histogram_of(store.of(queue)));
    };
    write("postroom_end_to_end_seconds", "From enqueue to confirmed delivery.",
          [](const QueueCounters& queue) { return queue.end_to_end; });
    write("postroom_claim_seconds", "How long claims took.",
          [](const QueueCounters& queue) { return queue.claim; });
    write("postroom_sink_send_seconds", "How long deliveries took that went well.",
          [](const QueueCounters& queue) {
              const LatencyHistogram& latency = queue.counted.latency;
              return Histogram{.counts = latency.counts, .sum = latency.sum};
          });
}

void write_breakers(Exposition& out, const StoresCounters& stores) {
    out.family("postroom_breaker_state", Exposition::Type::gauge,
               "1 for the state in which the circuit of a destination is.");
    for (const auto& [id, store] : stores)
        for (const Queue queue : both_queues)
            for (const auto& [destination, counted] : store.of(queue).destinations)
                for (const bool open : {false, true})
                    out.sample({{"store", id},
                                {"queue", to_string(queue)},
                                {"sink", destination},
                                {"state", open ? "open" : "closed"}},
                               std::uint64_t{counted.open == open ? 1U : 0U});
}

void write_backlog(Exposition& out, const StoresCounters& stores) {
    out.family("postroom_backlog", Exposition::Type::gauge,
               "Messages in the queue by state; retrying ones are also counted as ready or "
               "in_progress.");
    for (const auto& [id, store] : stores) {
        if (!store.sample || !store.sample->up) continue;
        for (const Queue queue : both_queues) {
            const Counts& counts = store.sample->counts(queue);
            for (const auto& [state, count] :
                 {std::pair{"ready", counts.ready}, std::pair{"in_progress", counts.in_progress},
                  std::pair{"retrying", counts.retrying}, std::pair{"dead", counts.dead},
                  std::pair{"seen", counts.seen}})
                out.sample({{"store", id}, {"queue", to_string(queue)}, {"state", state}}, count);
        }
    }
    out.family("postroom_old_failures", Exposition::Type::gauge,
               "Messages that are neither done nor dead and failed many times.");
    for (const auto& [id, store] : stores) {
        if (!store.sample || !store.sample->up) continue;
        for (const Queue queue : both_queues)
            out.sample({{"store", id}, {"queue", to_string(queue)}},
                       store.sample->counts(queue).old_failures);
    }
    out.family("postroom_oldest_age_seconds", Exposition::Type::gauge,
               "Age of the oldest message that is neither done nor dead.");
    for (const auto& [id, store] : stores) {
        if (!store.sample || !store.sample->up) continue;
        for (const Queue queue : both_queues)
            out.sample(
                {{"store", id}, {"queue", to_string(queue)}},
                std::chrono::duration<double>(store.sample->oldest(queue).value_or(Duration{}))
                    .count());
    }
}

void write_samples(Exposition& out, const StoresCounters& stores) {
    out.family("postroom_store_up", Exposition::Type::gauge, "1 when the store answers.");
    for (const auto& [id, store] : stores)
        if (store.sample) out.sample({{"store", id}}, std::uint64_t{store.sample->up ? 1U : 0U});
    out.family("postroom_schema_version", Exposition::Type::gauge,
               "The highest migration that is applied.");
    for (const auto& [id, store] : stores)
        if (store.schema_version)
            out.sample({{"store", id}}, static_cast<double>(*store.schema_version));
    out.family("postroom_db_clock_offset_seconds", Exposition::Type::gauge,
               "The database's clock minus this machine's.");
    for (const auto& [id, store] : stores)
        if (store.sample && store.sample->up)
            out.sample({{"store", id}},
                       std::chrono::duration<double>(store.sample->clock_offset).count());
}

}  // namespace

std::string prometheus_text(const StoresCounters& stores, const std::string& version) {
    using S = MetricsSnapshot;
    Exposition out;
    out.family("postroom_build_info", Exposition::Type::gauge, "The version of the program.");
    out.sample({{"version", version}}, std::uint64_t{1});
    write_samples(out, stores);
    write_backlog(out, stores);
    write_counters(
        out, stores, Exposition::Type::counter,
        {{"postroom_enqueued_total", "Messages enqueued by this process.", &S::enqueued},
         {"postroom_duplicates_total", "Messages whose key was there before.", &S::duplicates},
         {"postroom_hash_mismatches_total", "Known inbox keys that came with other content.",
          &S::hash_mismatches},
         {"postroom_hot_dropped_total", "Messages that did not fit into the hot queue.",
          &S::hot_dropped},
         {"postroom_claims_total", "Claims that returned.", &S::claims},
         {"postroom_released_total", "Messages given back untried.", &S::released},
         {"postroom_unroutable_total", "Messages that nobody handles.", &S::unroutable},
         {"postroom_lease_lost_total",
          "Leases found lost, by a renewal or by an outcome that came too late.", &S::lost},
         {"postroom_stale_settle_total", "Outcomes that came after the lease was lost.",
          &S::stale_settles},
         {"postroom_leases_reaped_total", "Expired leases taken back.", &S::reaped},
         {"postroom_purged_total", "Old messages deleted.", &S::purged},
         {"postroom_store_failures_total", "Operations on which the database failed.",
          &S::store_failures}});
    write_topics(out, stores);
    write_failures(out, stores);
    write_counters(
        out, stores, Exposition::Type::gauge,
        {{"postroom_hot_depth", "Messages in memory, handed over.", &S::hot_depth},
         {"postroom_cold_depth", "Messages in memory, claimed.", &S::cold_depth},
         {"postroom_inflight", "Messages whose lease this process holds.", &S::in_flight}});
    write_capacity_ratio(out, stores);
    write_breakers(out, stores);
    write_histograms(out, stores);
    return out.text();
}

}  // namespace postroom
