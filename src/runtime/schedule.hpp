// Schedule: which step of which store is taken next, by a bounded number of threads. Pure.
//
// Every store has its steps, each with a time at which it is due; a step runs at most once at a
// time. Which of the stores that want to be polled comes next is the strategy's choice; the other
// steps go by their time. A store that failed lately, or has a step under way that does not end, is
// a suspect: all suspects together may hold a few threads only, so that the rest serve the others.
// Renewals come before everything: one thread takes nothing else, and they have limits of their
// own.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "postroom/clock.hpp"
#include "postroom/tenancy.hpp"

namespace postroom {

enum class Step : std::uint8_t {
    keep,    // renew leases
    settle,  // store outcomes
    leave,   // see whether a store that was removed can be let go of
    listen,  // get the doorbell to listen
    claim,
    report,    // write down who is at work
    maintain,  // clean up
};
inline constexpr std::size_t step_kinds = 7;

struct ScheduleLimits {
    std::size_t threads = 5;                        // that take steps
    std::size_t per_store = 4;                      // steps of one store at the same time
    std::size_t suspects = 4;                       // steps of all suspects at the same time
    Duration slow = std::chrono::seconds{1};        // a step that takes longer makes a suspect
    Duration suspicion = std::chrono::seconds{10};  // how long after it, or after a failure
};

class Schedule {
public:
    using StoreNumber = std::uint64_t;  // in the order of the provider

    Schedule(const ScheduleLimits& limits, std::shared_ptr<const SelectionStrategy> strategy);

    // Nothing of it is due before wake().
    void add(StoreNumber store, const std::string& id);
    void remove(StoreNumber store);
    // The step is due at `at` or before. A step under way is then due again. Ignored for a store
    // that is not there and for steps that were ended.
    void wake(StoreNumber store, Step step, Instant at);
    // Never again.
    void end(StoreNumber store, Step step);

    struct Pick {
        StoreNumber store = 0;
        Step step{};
    };
    // What to do now; counts as under way until finished(). Without `may_claim` no store is polled.
    std::optional<Pick> next(Instant now, bool may_claim = true);

    struct Report {
        Instant next{};  // when the step wants to be taken again
        bool failed = false;
        std::size_t claimed = 0;  // by the last poll
    };
    void finished(const Pick& pick, Instant now, const Report& report);

    // When next() should be asked again, if nothing else happens.
    Instant wake_at(Instant now) const;

    bool under_way(StoreNumber store, Step step) const;
    std::size_t under_way(StoreNumber store) const;
    bool is_suspect(StoreNumber store, Instant now) const;

private:
    struct StepState {
        Instant due = Instant::max();
        Instant started{};
        bool running = false;
        bool again = false;
        bool ended = false;
    };
    struct Member {
        std::string id{};
        std::array<StepState, step_kinds> steps{};
        std::size_t running = 0;
        Instant suspect_until{};
    };
    // What is under way, renewals apart from the rest.
    struct Load {
        std::size_t others = 0;
        std::size_t suspect_others = 0;
        std::size_t suspect_keeps = 0;
    };
    using Due = std::set<std::pair<Instant, StoreNumber>>;

    void set_due(StoreNumber number, Member& member, Step step, Instant due);
    bool is_suspect(const Member& member, Instant now) const;
    bool may_start(const Member& member, Step step, const Load& load, Instant now) const;
    Load load(Instant now) const;
    std::optional<StoreNumber> first_of(Step step, const Load& load, Instant now) const;
    std::optional<StoreNumber> next_poll(const Load& load, Instant now) const;
    Pick start(StoreNumber store, Step step, Instant now);

    const ScheduleLimits limits_;
    const std::shared_ptr<const SelectionStrategy> strategy_;

    std::map<StoreNumber, Member> members_;
    std::array<Due, step_kinds> due_;  // of steps that are not under way
    std::vector<Pick> running_;
    struct Last {
        StoreNumber store = 0;
        std::optional<std::size_t> count{};
    };
    std::optional<Last> last_;
};

}  // namespace postroom
