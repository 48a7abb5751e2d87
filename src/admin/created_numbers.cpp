#include "admin/created_numbers.hpp"

#include <utility>
#include <vector>

#include "base/ulid.hpp"
#include "base/uuid.hpp"

namespace postroom::admin {

namespace {

// No need to know it better: so many are searched in no time.
constexpr std::uint64_t numbers_searched = 10'000;

// Narrows the numbers down to those around a time, with a guess as if messages had come evenly, and
// by halving where they did not.
class Narrowing {
public:
    Narrowing(Store& store, const CreatedWithin& wanted) : store_(store), wanted_(wanted) {
        const Query within{.after_seq = wanted.after_seq, .before_seq = wanted.before_seq};
        Query backwards = within;
        backwards.newest_first = true;
        const std::optional<Message> newest = one(backwards);
        if (!newest || newest->id.seq() < wanted.after_seq + numbers_searched) return;
        const std::optional<Message> oldest = one(within);
        if (!oldest) return;
        begin_ = {.seq = wanted.after_seq, .time = oldest->created_at};
        end_ = {.seq = newest->id.seq() + 1, .time = newest->created_at};
    }

    // Too few for it.
    bool is_small() const { return end_.seq == 0; }
    std::uint64_t last() const { return end_.seq - 1; }

    // Numbers up to `after` were created before `time`, those from `before` on were not.
    NumberRange around(Instant time) {
        Point low = begin_;
        Point high = end_;
        const auto probe = [&](std::uint64_t at) {
            if (at <= low.seq || at + 1 >= high.seq) return;
            const std::optional<Message> next = one({.after_seq = at, .before_seq = high.seq});
            if (next && next->created_at < time) {
                low = {.seq = next->id.seq(), .time = next->created_at};
            } else {
                high = {.seq = at + 1, .time = next ? next->created_at : high.time};
            }
        };
        while (high.seq > low.seq + numbers_searched) {
            const std::uint64_t guess = between(low, high, time);
            probe(guess > numbers_searched / 4 ? guess - numbers_searched / 4 : 0);
            probe(guess + numbers_searched / 4);
            if (high.seq > low.seq + numbers_searched) probe(low.seq + (high.seq - low.seq) / 2);
        }
        return {.after = low.seq, .before = high.seq};
    }

private:
    struct Point {
        std::uint64_t seq = 0;
        Instant time{};
    };

    static std::uint64_t between(const Point& low, const Point& high, Instant time) {
        if (time <= low.time) return low.seq;
        if (time >= high.time) return high.seq;
        const double part = static_cast<double>((time - low.time).count()) /
                            static_cast<double>((high.time - low.time).count());
        return low.seq + static_cast<std::uint64_t>(part * static_cast<double>(high.seq - low.seq));
    }
    std::optional<Message> one(Query probe) {
        probe.state = wanted_.states;
        probe.limit = 1;
        probe.payloads = false;
        std::vector<Message> found = store_.find(wanted_.queue, probe);
        return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
    }

    Store& store_;
    const CreatedWithin& wanted_;
    Point begin_{};
    Point end_{};
};

}  // namespace

NumberRange numbers_created(Store& store, const CreatedWithin& wanted) {
    Narrowing narrowing(store, wanted);
    NumberRange out{.after = wanted.after_seq, .before = wanted.before_seq};
    if (narrowing.is_small()) return out;
    if (wanted.from) out.after = narrowing.around(*wanted.from - wanted.slack).after;
    if (wanted.before) {
        const NumberRange end = narrowing.around(*wanted.before + wanted.slack);
        if (end.before <= narrowing.last()) out.before = end.before;
    }
    return out;
}

std::optional<Instant> time_in_message_id(std::string_view id) {
    if (const std::optional<Instant> made = base::ulid_time(id)) return made;
    return base::uuid_time(id);
}

}  // namespace postroom::admin
