// The restore guard: a database that came back from a backup, or was copied, is noticed before
// relays deliver last night's messages once more.
//
// A store keeps where it lives (its place), which life of it this is (its incarnation), and an
// epoch that workers raise now and then. A store that is opened with the guard on compares these
// whenever it connects: a place that has nothing in common with the one in the database is a copy,
// an epoch below the one that was remembered outside the database is a step back in time. Either
// way delivery is held: claims of the outbox throw Error{unavailable} until an operator has
// decided; everything else goes on. The inbox is never held: what its handlers wrote to this
// database went back in time with it. A fail-over to a standby changes neither of them.
//
// Thread safety: all operations may be called concurrently.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "postroom/clock.hpp"
#include "postroom/store.hpp"

namespace postroom {

struct RestoreGuardOptions {
    bool on = false;
    // A folder that is no part of the database, where epochs are remembered; empty: none is, and
    // only the place is compared.
    std::string state_dir{};
    // How often the epoch is raised while there are claims.
    Duration raise_interval = std::chrono::minutes{10};
    // An epoch is remembered once it has stood for so long: a standby that takes over may lack the
    // last seconds.
    Duration settled_after = std::chrono::minutes{10};

    bool operator==(const RestoreGuardOptions&) const = default;
};

struct RestoreHold {
    Instant since{};
    std::string why{};
};

struct RestoreDecision {
    std::string what{};  // "continue", "discard", "requeue"
    std::string who{};
    Instant at{};
};

// What the database says about itself.
struct StoreHome {
    std::string incarnation{};  // empty: no worker with a guard has been here
    std::uint64_t epoch = 0;
    std::string place{};  // where it was when last seen, as marks on a line each
    std::string here{};   // where it is
    std::optional<RestoreHold> hold{};
    std::optional<RestoreDecision> decided{};  // the last time
};

// Why it looks restored or copied; nullopt: it does not. `remembered`: the highest epoch that this
// incarnation was seen to have.
std::optional<std::string> sign_of_restore(const StoreHome& home,
                                           const std::optional<std::uint64_t>& remembered = {});

// RestoreControls: what an operator sees of the guard and decides, whether or not this store was
// opened with it.
class RestoreControls {
public:
    RestoreControls() = default;
    RestoreControls(const RestoreControls&) = delete;
    RestoreControls& operator=(const RestoreControls&) = delete;
    virtual ~RestoreControls() = default;

    virtual StoreHome home() = 0;

    // From now on delivery is held. One that is held already stays as it is.
    virtual void hold_delivery(const std::string& why) = 0;
    // Delivery goes on, in a new incarnation that lives here.
    virtual void end_hold(const std::string& decision, const std::string& who) = 0;

    // Those of these messages of the outbox that are ready and held by nobody become dead with
    // DeadReason::restored, and do not block their ordering keys. Returns how many did.
    virtual std::uint64_t set_aside(std::span<const WorkItemId> ids) = 0;
};

// nullptr for a store that has no such thing.
RestoreControls* restore_controls_of(Store& store);

}  // namespace postroom
