#include "admin/http/sources.hpp"

#include <unistd.h>

#include <set>

#include "base/host_name.hpp"

namespace postroom::admin {

namespace {

using Process = std::pair<std::string, std::int64_t>;  // host and pid

// What each process said last of a store. Its dispatchers say the same, some a little earlier.
std::map<Process, const WorkerReport*> last_words(const StoreView& view) {
    std::map<Process, const WorkerReport*> out;
    for (const WorkerReport& worker : view.workers) {
        const WorkerReport*& last = out[{worker.host, worker.pid}];
        if (last == nullptr || last->last_seen < worker.last_seen) last = &worker;
    }
    return out;
}

void add(SourceSums& sums, const std::string& store, const std::vector<SourceRepeats>& repeats) {
    for (const SourceRepeats& one : repeats) {
        SourceRepeats& sum = sums.sources[{store, one.source}];
        sum.duplicates += one.duplicates;
        sum.hash_mismatches += one.hash_mismatches;
    }
}

}  // namespace

std::map<std::string, std::uint64_t> SourceSums::duplicates() const {
    std::map<std::string, std::uint64_t> out;
    for (const auto& [key, sum] : sources) out[key.first] += sum.duplicates;
    return out;
}

SourceSums sources_of(const Context& context, std::span<const StorePtr> stores) {
    SourceSums sums;
    const Process here{base::host_name(), getpid()};
    std::set<Process> heard{here};
    const std::map<std::string, StoreView> views = context.watch.views();
    for (const StorePtr& store : stores) {
        // This process is asked itself: it may have no dispatcher, and knows what is newest.
        if (const StoreControls* const desk = controls_of(*store))
            add(sums, store->id(), desk->repeats());
        const auto view = views.find(store->id());
        if (view == views.end()) continue;
        for (const auto& [process, worker] : last_words(view->second)) {
            if (process == here) continue;
            add(sums, store->id(), worker->repeats);
            heard.insert(process);
        }
    }
    sums.processes = heard.size();
    return sums;
}

}  // namespace postroom::admin
