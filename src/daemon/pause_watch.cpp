#include "daemon/pause_watch.hpp"

#include <algorithm>
#include <chrono>

#include "base/sleep.hpp"
#include "daemon/log_lines.hpp"
#include "observe/log_line.hpp"
#include "postroom/error.hpp"
#include "postroom/operator.hpp"

namespace postroom::daemon {

namespace {

constexpr std::chrono::milliseconds round_min{1000};
constexpr std::chrono::milliseconds spacing_min{50};

void tell(const LogPlan& log, std::string name, const Store& store, const std::string& topic) {
    write_log(log, LogLevel::info,
              LogLine(std::move(name), value_chars_max)
                  .add("store", store.id())
                  .add("topic", topic)
                  .text());
}

}  // namespace

void PauseWatch::start() {
    for (const StorePtr& store : stores_.stores()) look_at(*store);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

// One look that fails, whatever for, does not end them.
void PauseWatch::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        try {
            look_at_all(stop);
        } catch (const std::exception& error) {
            write_log(
                log_, LogLevel::error,
                LogLine("RELAY_PAUSES_FAILED", value_chars_max).add("error", error.what()).text());
            base::sleep_for(stop, round_min);
        }
    }
}

void PauseWatch::look_at_all(const std::stop_token& stop) {
    const std::vector<StorePtr> stores = stores_.stores();
    const std::chrono::milliseconds spacing = std::max(
        spacing_min, round_min / static_cast<int>(std::max<std::size_t>(1, stores.size())));
    if (stores.empty()) base::sleep_for(stop, spacing);
    for (const StorePtr& store : stores) {
        if (!base::sleep_for(stop, spacing)) return;
        look_at(*store);
    }
}

void PauseWatch::look_at(Store& store) {
    StoreControls* const controls = controls_of(store);
    if (controls == nullptr) return;
    std::set<std::string> now;
    try {
        for (const PausedTopic& paused : controls->paused_topics()) now.insert(paused.topic);
    } catch (const Error& error) {
        // The last known list stands. That the store is away is told by its claims, but not that
        // this user may not read the list.
        if (error.kind() == ErrorKind::rejected && refused_.insert(store.id()).second)
            write_log(log_, LogLevel::warning,
                      LogLine("RELAY_PAUSES_UNREADABLE", value_chars_max)
                          .add("store", store.id())
                          .add("error", error.what())
                          .text());
        return;
    }
    std::set<std::string>& before = paused_[store.id()];
    if (now == before) return;
    dispatcher_.pause_in(store.id(), now);
    for (const std::string& topic : now)
        if (!before.contains(topic)) tell(log_, "RELAY_TOPIC_PAUSED", store, topic);
    for (const std::string& topic : before)
        if (!now.contains(topic)) tell(log_, "RELAY_TOPIC_RESUMED", store, topic);
    before = std::move(now);
}

}  // namespace postroom::daemon
