#include "admin/pauses.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "base/wildcards.hpp"
#include "postroom/error.hpp"

namespace postroom::admin {

namespace {

std::optional<std::string> nearest_paused(const std::vector<PausedTopic>& paused,
                                          const std::string& topic) {
    std::vector<std::string> names;
    for (const PausedTopic& one : paused) names.push_back(one.topic);
    return base::nearest(topic, names);
}

}  // namespace

StoreControls& controls(Store& store) {
    StoreControls* const found = controls_of(store);
    if (found == nullptr)
        throw Error(ErrorKind::misuse, fmt::format("store '{}' cannot do this", store.id()));
    return *found;
}

std::vector<PausedTopic> paused_topics(Store& store) {
    StoreControls* const found = controls_of(store);
    return found == nullptr ? std::vector<PausedTopic>{} : found->paused_topics();
}

std::optional<PausedTopic> pause_of(const std::vector<PausedTopic>& paused,
                                    const std::string& topic) {
    const auto own = std::ranges::find(paused, topic, &PausedTopic::topic);
    if (own != paused.end()) return *own;
    const auto pattern = std::ranges::find_if(
        paused, [&](const PausedTopic& one) { return base::matches_wildcards(one.topic, topic); });
    return pattern == paused.end() ? std::nullopt : std::optional(*pattern);
}

PauseChange set_paused(Store& store, const std::string& topic, bool paused, bool dry_run) {
    StoreControls& desk = controls(store);
    std::vector<PausedTopic> others = paused_topics(store);
    PauseChange change{
        .store = store.id(),
        .topic = topic,
        .wanted = paused,
        .was_paused =
            std::erase_if(others, [&](const PausedTopic& one) { return one.topic == topic; }) > 0,
        .dry_run = dry_run};
    if (const std::optional<PausedTopic> holds = pause_of(others, topic))
        change.held_by = holds->topic;
    if (!paused && !change.was_paused && !change.held_by)
        change.nearest = nearest_paused(others, topic);
    if (change.changed()) {
        paused ? desk.pause_topic(topic) : desk.resume_topic(topic);
        store.announce(Queue::outbox);
    }
    return change;
}

}  // namespace postroom::admin
