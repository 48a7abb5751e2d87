// StoreWatch: looks at every store from time to time, so that figures, workers and health can be
// told without asking a database for each request.
//
// Each store is looked at every `sample_interval`; of more than a hundred stores twenty a second,
// so that thousands of them cost no more.
//
// Thread safety: start() and stop() by one thread, views() by any. It has a thread of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "admin/traffic.hpp"
#include "base/mutex.hpp"
#include "postroom/admin.hpp"
#include "postroom/operator.hpp"
#include "postroom/restore.hpp"

namespace postroom::admin {

// What a look found, besides the counts that StoreMetrics keeps.
struct StoreView {
    std::vector<WorkerReport> workers{};
    std::vector<PausedTopic> paused{};
    std::optional<RestoreHold> hold{};     // delivery is held
    std::optional<SchemaReport> schema{};  // none: nobody told how to ask
    Instant now{};                         // the database's clock
    std::uint64_t look = 0;                // looks are numbered as they begin
};

class StoreWatch {
public:
    // All of them must outlive this.
    StoreWatch(StoreProvider& stores, StoreMetrics& metrics, Traffic& traffic,
               const AdminOptions& options)
        : stores_(stores), metrics_(metrics), traffic_(traffic), options_(options) {}

    void start();
    void request_stop() { thread_.request_stop(); }
    void stop();

    // By store; without those that were never reached.
    std::map<std::string, StoreView> views() const;

    // Why a store that should be there could not be opened; nullopt: it was, or there is none.
    std::optional<std::string> unopened(const std::string& store) const;

    // Looks at one store now, after a change. A look that began before it and ends after it changes
    // nothing any more.
    void look_at(Store& store);

private:
    void run(const std::stop_token& stop);
    void look_at_all(const std::stop_token& stop);
    std::uint64_t begin_look();
    void ask_for_schema(const std::string& store);
    void note_unopened(const std::vector<StorePtr>& present);
    void forget_removed(const std::vector<StorePtr>& present);

    StoreProvider& stores_;
    StoreMetrics& metrics_;
    Traffic& traffic_;
    const AdminOptions& options_;
    // The thread's.
    Instant noted_{};
    std::set<std::string> present_;  // stores, in the last round
    std::set<std::string> gone_;     // that had left by then

    mutable base::Mutex mutex_;
    std::uint64_t looks_ POSTROOM_GUARDED_BY(mutex_) = 0;
    std::map<std::string, StoreView> views_ POSTROOM_GUARDED_BY(mutex_);
    std::map<std::string, std::string> unopened_ POSTROOM_GUARDED_BY(mutex_);  // why
    struct KnownSchema {
        Instant asked{};
        std::optional<SchemaReport> report{};  // none: not answered yet
    };
    std::map<std::string, KnownSchema> schemas_ POSTROOM_GUARDED_BY(mutex_);
    std::jthread thread_;
};

}  // namespace postroom::admin
