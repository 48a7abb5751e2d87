#include "daemon/pause_watch.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "daemon/log_lines.hpp"
#include "postroom/error.hpp"
#include "postroom/store_controls.hpp"
#include "queue/log_line.hpp"

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

void rest(const std::stop_token& stop, std::chrono::milliseconds time) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace

void PauseWatch::start() {
    for (const StorePtr& store : stores_.stores()) look_at(*store);
    thread_ = std::jthread([this](std::stop_token stop) { run(std::move(stop)); });
}

void PauseWatch::run(std::stop_token stop) {
    while (!stop.stop_requested()) {
        const std::vector<StorePtr> stores = stores_.stores();
        const std::chrono::milliseconds spacing = std::max(
            spacing_min, round_min / static_cast<int>(std::max<std::size_t>(1, stores.size())));
        if (stores.empty()) rest(stop, spacing);
        for (const StorePtr& store : stores) {
            rest(stop, spacing);
            if (stop.stop_requested()) return;
            look_at(*store);
        }
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
