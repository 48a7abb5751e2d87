// The doorbell: these engines have no LISTEN, so somebody looks.
//
// There is nothing to ring: a commit is found by looking for numbers above the highest one seen, on
// a connection of its own, ten times a second. That costs one probe of each table's primary key.
// Writers in the same process need no bell; one elsewhere is heard a twentieth of a second later on
// average. A message that commits after one with a higher number is left to the poller.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.hpp"
#include "postroom/connection_budget.hpp"
#include "postroom/store.hpp"
#include "sql/connection.hpp"
#include "sql/connection_ledger.hpp"

namespace postroom::mysql {

// Thread safety: as Doorbell.
class LookingDoorbell final : public Doorbell {
public:
    using Connect = std::function<std::unique_ptr<sql::Connection>()>;

    // `name` is schema.queue. The connection needs a place in `budget`, if there is one.
    LookingDoorbell(Connect connect, const std::string& name,
                    std::shared_ptr<ConnectionBudget> budget);

    void ring() noexcept override {}
    // The first call connects and returns true, because nobody knows what was missed.
    bool wait(Duration timeout, std::stop_token stop) override;
    void listen(std::stop_token stop) override;
    bool look() override;

private:
    // False: `stop` came first.
    bool sleep(Duration duration, const std::stop_token& stop);

    const Connect connect_;
    const std::string query_;
    const std::shared_ptr<ConnectionBudget> budget_;

    // Of the waiting thread.
    std::optional<sql::ReservedConnection> place_;
    std::unique_ptr<sql::Connection> connection_;
    std::array<std::int64_t, 3> highest_{};  // in live, waiting, turn

    // To sleep on; nobody else uses them.
    base::Mutex mutex_;
    base::CondVar never_;
};

}  // namespace postroom::mysql
