// BornLeases: the leases that messages are born with, from the reservation of room for them until
// they are handed over or given back. Pure.
//
// Messages with one lease id are settled and renewed by one statement, so those that are written
// one by one share it for a while. None gets the same twice: one that comes back is claimed, under
// another.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "postroom/clock.hpp"
#include "postroom/message.hpp"

namespace postroom {

class BornLeases {
public:
    struct Reservation {
        std::size_t count = 0;  // messages
        // The first of several sharers counts: a lease ends here no later than in the database.
        Instant at{};
        std::size_t sharers = 0;  // writers that have this lease, for so many messages each
    };

    explicit BornLeases(Duration lease) : shared_for_(lease / shares_in_a_lease) {}

    LeaseId reserve(std::size_t count, Instant now, Random& random) {
        const LeaseId id = count == 1 ? shared(now, random) : fresh(random);
        ++reservations_.try_emplace(id, Reservation{.count = count, .at = now})
              .first->second.sharers;
        return id;
    }

    // Ends one that is there.
    std::optional<Reservation> end(LeaseId id) {
        const auto at = reservations_.find(id);
        if (at == reservations_.end()) return std::nullopt;
        const Reservation ended = at->second;
        if (--at->second.sharers == 0) reservations_.erase(at);
        return ended;
    }

private:
    static constexpr int shares_in_a_lease = 30;

    static LeaseId fresh(Random& random) {
        return LeaseId(static_cast<std::int64_t>(random.next()));
    }
    LeaseId shared(Instant now, Random& random) {
        if (now >= shared_ends_) {
            shared_ = fresh(random);
            shared_ends_ = now + shared_for_;
        }
        return shared_;
    }

    const Duration shared_for_;
    std::map<LeaseId, Reservation> reservations_;
    LeaseId shared_{};
    Instant shared_ends_{};
};

}  // namespace postroom
