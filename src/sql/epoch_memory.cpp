#include "sql/epoch_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "base/random.hpp"

namespace postroom::sql {

std::optional<std::uint64_t> EpochMemory::of(const std::string& incarnation) {
    if (folder_.empty() || incarnation.empty()) return std::nullopt;
    const Entry& known = entry(incarnation);
    return known.settled == 0 ? std::nullopt : std::optional(known.settled);
}

void EpochMemory::note(const std::string& incarnation, std::uint64_t epoch, Instant now) {
    if (folder_.empty() || incarnation.empty()) return;
    Entry& known = entry(incarnation);
    const Entry before = known;
    const std::int64_t now_s =
        std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    // A clock that was put back begins anew, as does an epoch that a fail-over has lost.
    if (known.candidate == 0 || epoch < known.candidate || now_s < known.since_s) {
        known.candidate = epoch;
        known.since_s = now_s;
    }
    if (std::chrono::seconds{now_s - known.since_s} >= settled_after_) {
        known.settled = std::max(known.settled, known.candidate);
        if (epoch > known.candidate) {
            known.candidate = epoch;
            known.since_s = now_s;
            if (settled_after_ == Duration::zero()) known.settled = std::max(known.settled, epoch);
        }
    }
    if (known != before) save(incarnation, known);
}

std::filesystem::path EpochMemory::file_of(const std::string& incarnation) const {
    return std::filesystem::path(folder_) / ("epoch-" + incarnation);
}

EpochMemory::Entry& EpochMemory::entry(const std::string& incarnation) {
    if (known_ != incarnation) {
        entry_ = load(incarnation);
        known_ = incarnation;
    }
    return entry_;
}

EpochMemory::Entry EpochMemory::load(const std::string& incarnation) const {
    std::ifstream file(file_of(incarnation));
    Entry read;
    if (file >> read.settled >> read.candidate >> read.since_s) return read;
    return {};
}

// Whole or not at all: a relay may end at any moment. Another one may have come further.
void EpochMemory::save(const std::string& incarnation, const Entry& entry) const {
    const std::filesystem::path target = file_of(incarnation);
    base::SystemRandom random;  // several stores and containers may share the folder
    const std::filesystem::path fresh = fmt::format("{}.{:x}", target.string(), random.next());
    {
        std::ofstream file(fresh, std::ios::trunc);
        file << std::max(entry.settled, load(incarnation).settled) << ' ' << entry.candidate << ' '
             << entry.since_s << '\n';
        file.flush();
        if (!file) return;
    }
    std::error_code ignored;
    std::filesystem::rename(fresh, target, ignored);
}

}  // namespace postroom::sql
