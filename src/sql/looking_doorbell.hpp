// LookingDoorbell: for engines that have no LISTEN, so somebody looks.
//
// There is nothing to ring: a commit is found by looking for numbers above the highest one seen, on
// a connection of its own, ten times a second. That costs one probe of a primary key for each.
// Writers in the same process need no bell; one elsewhere is heard a twentieth of a second later on
// average. A message that commits after one with a higher number is left to the poller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "postroom/store.hpp"
#include "postroom/tenancy.hpp"
#include "sql/connection.hpp"
#include "sql/connection_ledger.hpp"

namespace postroom::sql {

// Thread safety: as Doorbell.
class LookingDoorbell final : public Doorbell {
public:
    using Connect = std::function<std::unique_ptr<Connection>()>;

    // `query` yields one row: in each of its `columns` the highest number above the parameter at
    // that place, or NULL. The connection needs a place in `budget`, if there is one.
    LookingDoorbell(Connect connect, std::string query, std::size_t columns,
                    std::shared_ptr<ConnectionBudget> budget);

    void ring() noexcept override {}
    // The first call connects and returns true, because nobody knows what was missed.
    bool wait(Duration timeout, std::stop_token stop) override;
    void listen(std::stop_token stop) override;
    bool look() override;

private:
    const Connect connect_;
    const std::string query_;
    const std::shared_ptr<ConnectionBudget> budget_;

    // Of the waiting thread.
    std::optional<ReservedConnection> place_;
    std::unique_ptr<Connection> connection_;
    std::vector<std::int64_t> highest_;
};

}  // namespace postroom::sql
