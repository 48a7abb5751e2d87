#include "backends/mysql/doorbell.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "postroom/error.hpp"

namespace postroom::mysql {

namespace {

using std::chrono::steady_clock;

constexpr Duration look_interval = std::chrono::milliseconds{100};
// Longer waits would leave the range of the clock, and nobody minds a false after a day.
constexpr Duration wait_max = std::chrono::hours{24};

// Above what was seen only: at the end of a table lie rows that were deleted and not purged yet.
std::string query_for(const std::string& name) {
    const std::string queue = name.substr(name.find('.') + 1);
    return fmt::format(
        "SELECT (SELECT seq FROM `{0}_live` WHERE seq > ? ORDER BY seq DESC LIMIT 1), "
        "(SELECT seq FROM `{0}_waiting` WHERE seq > ? ORDER BY seq DESC LIMIT 1), "
        "(SELECT id FROM `{0}_turn` WHERE id > ? ORDER BY id DESC LIMIT 1)",
        queue);
}

}  // namespace

LookingDoorbell::LookingDoorbell(Connect connect, const std::string& name,
                                 std::shared_ptr<ConnectionBudget> budget)
    : connect_(std::move(connect)), query_(query_for(name)), budget_(std::move(budget)) {}

bool LookingDoorbell::wait(Duration timeout, std::stop_token stop) {
    const auto deadline = steady_clock::now() + std::clamp(timeout, Duration::zero(), wait_max);
    if (stop.stop_requested()) return false;
    if (!connection_) {
        listen(stop);
        return true;
    }
    while (!look()) {
        const auto left = std::chrono::ceil<Duration>(deadline - steady_clock::now());
        if (left <= Duration::zero() || !sleep(std::min(look_interval, left), stop)) return false;
    }
    return true;
}

void LookingDoorbell::listen(std::stop_token) {
    if (connection_) return;
    if (!place_) place_ = sql::ReservedConnection::of(budget_);
    if (!place_) throw Error(ErrorKind::unavailable, "doorbell: no connection left in the budget");
    connection_ = connect_();
    look();
}

bool LookingDoorbell::look() {
    if (!connection_) throw Error(ErrorKind::unavailable, "doorbell: nobody listens");
    try {
        const SqlRows rows = connection_->execute(
            {.sql = query_, .params = {highest_[0], highest_[1], highest_[2]}});
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

bool LookingDoorbell::sleep(Duration duration, const std::stop_token& stop) {
    base::MutexLock lock(mutex_);
    never_.wait_for(lock, stop, duration, [] { return false; });
    return !stop.stop_requested();
}

}  // namespace postroom::mysql
