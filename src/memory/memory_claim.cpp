#include "memory/memory_claim.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>

#include "queue/claim_passes.hpp"

namespace postroom {

namespace {

using Candidates = std::vector<const MemoryRow*>;

std::uint64_t seq_of(const MemoryRow* row) { return row->message.id.seq(); }

bool by_priority(const MemoryRow* a, const MemoryRow* b) {
    if (a->message.priority != b->message.priority)
        return a->message.priority > b->message.priority;
    return seq_of(a) < seq_of(b);
}

bool by_available_at(const MemoryRow* a, const MemoryRow* b) {
    if (a->message.available_at != b->message.available_at)
        return a->message.available_at < b->message.available_at;
    return seq_of(a) < seq_of(b);
}

struct Bands {
    Candidates urgent;
    Candidates fresh;
    Candidates keyed;
    Candidates due;
    Candidates low;
};

using Keys = std::set<std::string_view>;

Keys leased_keys(const MemoryRows& rows) {
    Keys keys;
    for (const auto& [seq, row] : rows)
        if (row.message.lease) keys.insert(row.message.ordering_key);
    return keys;
}

// Urgent ones are fresh too: a claim by age finds them there.
Candidates& band_of(const MemoryRow& row, Bands& bands) {
    const Message& message = row.message;
    if (row.fresh) {
        if (message.priority > 0) bands.urgent.push_back(&row);
        return bands.fresh;
    }
    if (!message.ordering_key.empty()) return bands.keyed;
    return message.priority < 0 ? bands.low : bands.due;
}

Bands sort_into_bands(const MemoryRows& rows, Instant now) {
    Bands bands;
    const Keys leased = leased_keys(rows);
    Keys passed;
    for (const auto& [seq, row] : rows) {
        const Message& message = row.message;
        if (row.stands_in_line()) {
            const bool first = passed.insert(message.ordering_key).second;
            if (!first || leased.contains(message.ordering_key)) continue;
        }
        if (row.dead() || message.lease || message.available_at > now) continue;
        band_of(row, bands).push_back(&row);
    }
    std::sort(bands.urgent.begin(), bands.urgent.end(), by_priority);
    std::sort(bands.keyed.begin(), bands.keyed.end(), by_available_at);
    std::sort(bands.due.begin(), bands.due.end(), by_available_at);
    std::sort(bands.low.begin(), bands.low.end(), by_available_at);
    return bands;
}

}  // namespace

std::vector<std::uint64_t> choose_claim(const MemoryRows& rows, std::uint32_t batch,
                                        std::uint64_t claim_number, Instant now) {
    const ClaimPasses passes = claim_passes(batch, claim_number);
    const Bands bands = sort_into_bands(rows, now);

    Candidates chosen;
    std::set<const MemoryRow*> taken;
    const auto take = [&](const Candidates& band, std::size_t ceiling) {
        for (const MemoryRow* const row : band) {
            if (chosen.size() >= ceiling) return;
            if (taken.insert(row).second) chosen.push_back(row);
        }
    };
    take(bands.urgent, passes.urgent);
    take(bands.keyed, passes.keyed);
    take(bands.due, passes.due);
    take(bands.low, passes.low);
    take(bands.fresh, batch);
    take(bands.keyed, passes.keyed_again);
    take(bands.due, batch);
    take(bands.keyed, batch);
    take(bands.low, batch);

    std::sort(chosen.begin(), chosen.end(), by_priority);
    std::vector<std::uint64_t> seqs;
    for (const MemoryRow* row : chosen) seqs.push_back(seq_of(row));
    return seqs;
}

}  // namespace postroom
