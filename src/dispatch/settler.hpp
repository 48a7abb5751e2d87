// Settler: gathers outcomes so that many are settled in one call, and keeps those whose call
// failed. Pure.
//
// A batch is due when it is full or when an outcome in it has waited `settle_delay`, one for which
// somebody waits no longer than `hurried_delay`. After a call
// that failed, everything waits a little longer each time; outcomes whose lease has run out
// meanwhile simply come back as lost. Its owner takes in no more messages while too many wait here.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "postroom/store.hpp"

namespace postroom {

struct SettlerOptions {
    std::size_t batch = 200;
    Duration delay = std::chrono::milliseconds{2};
    Duration hurried_delay = std::chrono::milliseconds{2};
    Duration failure_pause = std::chrono::milliseconds{50};  // doubled by each failure in a row
    Duration failure_pause_max = std::chrono::seconds{2};
};

// What is to be settled, and what the observer is notified of afterwards.
struct Outgoing {
    Settlement settlement{};
    std::unique_ptr<const Message> message{};  // for the observer; see Event
    Duration took{};                           // by the handler
    Instant ended{};                           // when it returned
    bool others_wait = false;                  // nothing starts until the store was told of it
};

class Settler {
public:
    explicit Settler(const SettlerOptions& options)
        : options_(options), pause_(options.failure_pause) {}

    void add(Outgoing outgoing, Instant now, bool hurried = false);

    // Somebody waits for all of them: none waits for others any more.
    void hurry(Instant now) {
        if (!waiting_.empty()) first_due_ = std::min(first_due_, now);
    }

    // The next batch, empty when none is due. With `all` everything is due.
    std::vector<Outgoing> take(Instant now, bool all);
    // Instant::max() when nothing waits.
    Instant next_due() const;

    // What became of a batch that was taken.
    void succeeded();
    // The store is away: the batch comes again, before everything else.
    void failed(std::vector<Outgoing> batch, Instant now);
    // The store refused the batch: its members come again one by one, so that one bad one does not
    // take the others with it.
    void refused(std::vector<Outgoing> batch);

    bool empty() const { return waiting_.empty() && singly_.empty(); }
    std::size_t size() const { return waiting_.size() + singly_.size(); }

private:
    struct Waiting {
        Outgoing outgoing{};
        Instant due{};
    };

    const SettlerOptions options_;
    std::deque<Waiting> waiting_;
    std::deque<Outgoing> singly_;         // to be settled one by one
    Instant first_due_ = Instant::max();  // of those that wait
    Instant not_before_{};
    Duration pause_;
};

}  // namespace postroom
