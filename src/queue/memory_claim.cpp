#include "queue/memory_claim.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>

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

Bands sort_into_bands(const MemoryRows& rows, bool by_age, Instant now) {
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
        if (row.fresh)
            (message.priority > 0 && !by_age ? bands.urgent : bands.fresh).push_back(&row);
        else
            (message.priority < 0 && message.ordering_key.empty() && !by_age ? bands.low
                                                                             : bands.due)
                .push_back(&row);
    }
    std::sort(bands.urgent.begin(), bands.urgent.end(), by_priority);
    std::sort(bands.due.begin(), bands.due.end(), by_available_at);
    std::sort(bands.low.begin(), bands.low.end(), by_available_at);
    return bands;
}

}  // namespace

std::vector<std::uint64_t> choose_claim(const MemoryRows& rows, std::uint32_t batch,
                                        std::uint64_t claim_number, Instant now) {
    const bool by_age = claim_number % 4 == 3;
    const Bands bands = sort_into_bands(rows, by_age, now);

    Candidates chosen;
    const auto room = [&] { return batch - chosen.size(); };
    const auto take = [&](const Candidates& band, std::size_t count) {
        const std::size_t taken = std::min({count, band.size(), room()});
        chosen.insert(chosen.end(), band.begin(),
                      band.begin() + static_cast<std::ptrdiff_t>(taken));
    };

    take(bands.urgent, room());
    // The odd place goes to each in turn, among the claims by age as well as among the others: a
    // batch of one must starve neither.
    const std::uint64_t turn = by_age ? claim_number / 4 : claim_number;
    const std::size_t half = (room() + turn % 2) / 2;
    const std::size_t fresh_left = room() - std::min(room(), bands.fresh.size());
    const std::size_t due_share = std::min(bands.due.size(), std::max(half, fresh_left));
    take(bands.fresh, room() - due_share);
    take(bands.due, room());
    take(bands.low, room());

    std::sort(chosen.begin(), chosen.end(), by_priority);
    std::vector<std::uint64_t> seqs;
    for (const MemoryRow* row : chosen) seqs.push_back(seq_of(row));
    return seqs;
}

}  // namespace postroom
