#include "postroom/tenancy.hpp"

namespace postroom {

namespace {

using Candidates = std::span<const PollCandidate>;

std::optional<std::size_t> place_of(Candidates candidates, const LastPoll* last) {
    if (last == nullptr) return std::nullopt;
    for (std::size_t i = 0; i < candidates.size(); ++i)
        if (candidates[i].store == last->store) return i;
    return std::nullopt;
}

// The first that is due behind the last one, around the end to the last one itself.
std::optional<std::size_t> next_due_after(Candidates candidates, std::optional<std::size_t> last) {
    const std::size_t start = last ? *last + 1 : 0;
    for (std::size_t n = 0; n < candidates.size(); ++n) {
        const std::size_t i = (start + n) % candidates.size();
        if (candidates[i].due) return i;
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::size_t> RoundRobin::next(Candidates candidates, const LastPoll* last) const {
    return next_due_after(candidates, place_of(candidates, last));
}

std::optional<std::size_t> DrainFirst::next(Candidates candidates, const LastPoll* last) const {
    const std::optional<std::size_t> current = place_of(candidates, last);
    const bool drained = !current || last->count == std::size_t{0};
    if (drained) return next_due_after(candidates, current);
    return candidates[*current].due ? current : std::nullopt;
}

}  // namespace postroom
