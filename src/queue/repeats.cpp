#include "queue/repeats.hpp"

namespace postroom {

void Repeats::note(const std::string& source, Repeat what) {
    const base::MutexLock lock(mutex_);
    auto known = sources_.find(source);
    if (known == sources_.end()) {
        const bool full = sources_.size() >= repeat_sources_max;
        const std::string name = full ? std::string{} : source;
        known = sources_.try_emplace(name, SourceRepeats{.source = name}).first;
    }
    ++(what == Repeat::duplicate ? known->second.duplicates : known->second.hash_mismatches);
}

std::vector<SourceRepeats> Repeats::list() const {
    const base::MutexLock lock(mutex_);
    std::vector<SourceRepeats> out;
    out.reserve(sources_.size());
    for (const auto& [name, counted] : sources_) out.push_back(counted);
    return out;
}

}  // namespace postroom
