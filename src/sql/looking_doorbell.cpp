#include "sql/looking_doorbell.hpp"

#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "base/sleep.hpp"
#include "postroom/error.hpp"

namespace postroom::sql {

namespace {

constexpr Duration look_interval = std::chrono::milliseconds{100};

}  // namespace

LookingDoorbell::LookingDoorbell(Connect connect, std::string query, std::size_t columns,
                                 std::shared_ptr<ConnectionBudget> budget)
    : connect_(std::move(connect)),
      query_(std::move(query)),
      budget_(std::move(budget)),
      highest_(columns) {}

bool LookingDoorbell::wait(Duration timeout, std::stop_token stop) {
    if (stop.stop_requested()) return false;
    if (!connection_) {
        listen(stop);
        return true;
    }
    return base::look_until([this] { return look(); }, look_interval, timeout, stop);
}

void LookingDoorbell::listen(std::stop_token) {
    if (connection_) return;
    if (!place_) place_ = ReservedConnection::of(budget_);
    if (!place_) throw Error(ErrorKind::unavailable, "doorbell: no connection left in the budget");
    connection_ = connect_();
    look();
}

bool LookingDoorbell::look() {
    if (!connection_) throw Error(ErrorKind::unavailable, "doorbell: nobody listens");
    try {
        const SqlRows rows =
            connection_->execute({.sql = query_, .params = {highest_.begin(), highest_.end()}});
        bool changed = false;
        for (std::size_t i = 0; i < highest_.size(); ++i) {
            const std::optional<std::string>& cell = rows.at(0).at(i);
            if (!cell) continue;
            std::from_chars(cell->data(), cell->data() + cell->size(), highest_.at(i));
            changed = true;
        }
        return changed;
    } catch (const Error& error) {
        connection_.reset();
        throw Error(ErrorKind::unavailable, fmt::format("doorbell: {}", error.what()));
    }
}

}  // namespace postroom::sql
