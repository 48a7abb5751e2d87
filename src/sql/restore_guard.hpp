// RestoreGuard: keeps a store that was restored or copied from being claimed from; see
// postroom/restore.hpp.
//
// It looks at every new connection before anything else runs on it, and now and then between
// claims. So a database that was exchanged under a worker, which cannot happen without a new
// connection, is noticed before the first claim on it; and one whose tables were put back in place
// within seconds.
//
// Thread safety: may be shared.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/mutex.hpp"
#include "postroom/restore.hpp"
#include "sql/compiled.hpp"
#include "sql/epoch_memory.hpp"
#include "sql/runner.hpp"

namespace postroom::sql {

class RestoreGuard {
public:
    // `units` must outlive this. `place`: see Backend.
    RestoreGuard(const RestoreUnits& units, const RestoreGuardOptions& options,
                 std::function<std::string()> place);

    bool on() const { return options_.on; }

    // Throws Error{unavailable} when the database behind this connection is another one than
    // before: what was about to run was meant for that.
    void look_at(Connection& connection);

    // Throws Error{unavailable} while delivery is held. `now` is the database's clock.
    void before_claim(Runner& runner, const std::function<Instant()>& now);

    // Whatever the options say. Throws Error{rejected} for a store whose row is gone.
    StoreHome home(Runner& runner);
    void hold(Runner& runner, const StoreHome& home, const std::string& why, Instant now);
    void end_hold(Runner& runner, const StoreHome& home, const RestoreDecision& decision);

private:
    using SteadyClock = std::chrono::steady_clock;
    enum class Standing { unknown, unguarded, clear, held };

    struct View {
        StoreHome home{};
        std::optional<std::string> why{};  // it is held
        bool shows_sign = false;           // by what was just read, and nobody has noted it yet
    };

    std::optional<StoreHome> read(const std::function<void(const OnTaggedRow&)>& run) const;
    std::optional<StoreHome> read(Runner& runner) const;
    View judge(StoreHome home) POSTROOM_REQUIRES(mutex_);
    // Looks, writes down what has to be, and says what stands then.
    void look(Runner& runner, const std::function<Instant()>& now);
    void adopt(Runner& runner, const StoreHome& home) const;
    void raise(Runner& runner, const StoreHome& home) const;
    bool raise_is_due();
    void note(const View& view) POSTROOM_REQUIRES(mutex_);

    // Constant after construction.
    const RestoreUnits& units_;
    const RestoreGuardOptions options_;
    const std::function<std::string()> place_;

    base::Mutex mutex_;
    EpochMemory memory_ POSTROOM_GUARDED_BY(mutex_);
    Standing standing_ POSTROOM_GUARDED_BY(mutex_) = Standing::unknown;
    std::string why_ POSTROOM_GUARDED_BY(mutex_);               // of held
    std::string seen_incarnation_ POSTROOM_GUARDED_BY(mutex_);  // the last one seen
    SteadyClock::time_point look_at_ POSTROOM_GUARDED_BY(mutex_){};
    std::optional<SteadyClock::time_point> raised_at_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom::sql
