// StoreMetrics: the figures of every store, topic and destination, and their text for Prometheus.
//
//   StoreMetrics metrics;
//   Dispatcher dispatcher(*store, {.observer = &metrics});
//   ...
//   metrics.sample(*store);                       // now and then: what lies in the database
//   reply(200, "text/plain; version=0.0.4", metrics.prometheus());
//
// Counters come from events and only grow. What lies in the database is known after sample(), which
// costs what Store::counts() costs; nothing else here asks the database. An AdminServer samples by
// itself.
//
// Names and labels: docs/guides/observing.md. The number of topics that get a label of their own is
// bounded; the rest are counted together as `other`. Neither tenants nor message ids are labels.
//
// Thread safety: all of it may be called from many threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/metrics.hpp"
#include "postroom/store.hpp"

namespace postroom {

struct StoreMetricsOptions {
    // Topics, and destinations that were ever down, of each queue of each store that are counted by
    // their names; the others are counted as `other`.
    std::size_t topics_max = 200;
    // Where messages of a topic go, for the label `sink`. Asked once for each topic that has a
    // label of its own, and again for each message of the others.
    std::function<std::string(const std::string& topic)> destination_of{};
    std::string version{};  // of the program, for postroom_build_info
};

// What was found in a store when it was last looked at.
struct StoreSample {
    bool up = false;
    std::string error{};  // why not
    Instant at{};         // this machine's clock
    Counts outbox{};
    Counts inbox{};
    std::optional<Duration> outbox_oldest{};  // age, by the database's clock
    std::optional<Duration> inbox_oldest{};
    Duration clock_offset{};  // the database's clock minus this machine's

    const Counts& counts(Queue queue) const { return queue == Queue::outbox ? outbox : inbox; }
    const std::optional<Duration>& oldest(Queue queue) const {
        return queue == Queue::outbox ? outbox_oldest : inbox_oldest;
    }
};

struct StoreFigures {
    std::string store{};
    MetricsSnapshot outbox{};
    MetricsSnapshot inbox{};
    std::optional<StoreSample> sample{};  // none yet

    const MetricsSnapshot& figures(Queue queue) const {
        return queue == Queue::outbox ? outbox : inbox;
    }
};

struct TopicFigures {
    std::string store{};
    Queue queue = Queue::outbox;
    std::string topic{};
    std::string destination{};
    std::uint64_t delivered = 0;
    std::uint64_t failed = 0;  // will be tried again
    std::uint64_t dead = 0;
};

// Where messages went, by `destination_of`.
struct DestinationFigures {
    std::string store{};
    std::string destination{};
    LatencyHistogram latency{};  // of the outbox
};

class StoreMetrics final : public Observer {
public:
    explicit StoreMetrics(StoreMetricsOptions options = {});
    ~StoreMetrics() override;

    void observe(const Event& event) noexcept override;

    // Looks at the store itself. Never throws: a store that does not answer is down.
    void sample(Store& store) noexcept;
    // The store could not even be opened; `error` says why. As a sample that found it down.
    void down(const std::string& store, const std::string& error);
    void schema_version(const std::string& store, int version);
    // The store is gone, and all that was known of it. An event that names it begins anew.
    void forget(const std::string& store);

    std::vector<StoreFigures> stores() const;
    std::vector<TopicFigures> topics() const;
    std::vector<DestinationFigures> destinations() const;
    // Of all stores together.
    MetricsSnapshot total(Queue queue) const;

    // Text exposition format, version 0.0.4.
    std::string prometheus() const;

private:
    struct Figures;
    const std::unique_ptr<Figures> figures_;
};

}  // namespace postroom
