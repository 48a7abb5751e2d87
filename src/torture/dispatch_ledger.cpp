#include "torture/dispatch_ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "torture/dispatch_worker.hpp"
#include "torture/journal.hpp"

namespace postroom::torture {

std::string DispatchLedger::lost_line(const Lease& lease) {
    return fmt::format("lost {} {}\n", lease.id.to_string(), lease.lease_id.value());
}

std::string DispatchLedger::handled_line(const MessageId& id) {
    return fmt::format("handled {}\n", id.str());
}

void DispatchLedger::read(const std::string& line) {
    std::istringstream words(line);
    std::string what;
    std::string id;
    std::string lease;
    words >> what >> id >> lease;
    if (what == "handled") handled_.insert(id);
    if (what == "lost") lost_.emplace(id, lease);
}

void DispatchLedger::read_all(const std::filesystem::path& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        for (const std::string& line : whole_lines(entry.path())) read(line);
}

std::uint32_t DispatchLedger::losses_of(const WorkItemId& id) const {
    return static_cast<std::uint32_t>(
        std::ranges::count(lost_, id.to_string(), &std::pair<std::string, std::string>::first));
}

// A machine that stands still for longer than a lease loses messages like one that crashed. Nothing
// can tell the two apart but the dispatcher that comes back; without what it told of, the message
// would live.
bool DispatchLedger::died_of_stalls(const Message& message) const {
    const std::uint32_t stalls = losses_of(message.id);
    return message.state == State::dead && message.dead_reason == DeadReason::crash_limit &&
           stalls > 0 && message.lost_count <= DispatchWorker::crash_limit + stalls;
}

std::vector<std::string> DispatchLedger::judge(const Fate& fate, const Message& message) const {
    std::vector<std::string> broken;
    const std::string& id = message.message_id.str();
    const auto say = [&](const std::string& what) {
        broken.push_back(fmt::format("{}: {}", id, what));
    };
    const bool as_told = message.state == fate.state && message.dead_reason == fate.reason;
    if (!as_told && !died_of_stalls(message))
        say(fmt::format("{} {}", state_name(Queue::outbox, message.state),
                        to_string(message.dead_reason)));
    if (message.state == State::done && fate.state == State::done && !handled_.contains(id))
        say("done, though nobody handled it");
    if (fate.topic == std::string_view(outage_topic) && message.retry_count > 0)
        say("the outage of its destination cost it attempts");
    return broken;
}

}  // namespace postroom::torture
