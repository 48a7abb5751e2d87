// DispatchLedger: what the journals of dispatchers say, held against what became of a message.
//
//   handled ID
//       a handler is about to return
//   lost ITEM LEASE
//       a dispatcher that lives on was told that it holds the message no longer
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "postroom/message.hpp"

namespace postroom::torture {

// What is to become of the messages of a topic.
struct Fate {
    const char* topic;
    std::uint32_t count;
    State state;
    DeadReason reason;
};

class DispatchLedger {
public:
    // The line of the journal for a lease that was lost.
    static std::string lost_line(const Lease& lease);
    static std::string handled_line(const MessageId& id);

    // One line of a journal, without its end.
    void read(const std::string& line);
    void read_all(const std::filesystem::path& folder);

    // One line for each promise that was broken to the message.
    std::vector<std::string> judge(const Fate& fate, const Message& message) const;

    // Leases that were lost by dispatchers that lived on: they stood still for too long.
    std::uint64_t losses() const { return lost_.size(); }

private:
    std::uint32_t losses_of(const WorkItemId& id) const;
    bool died_of_stalls(const Message& message) const;

    std::set<std::string> handled_;
    // Item and lease: renewal and settlement may both have told of it.
    std::set<std::pair<std::string, std::string>> lost_;
};

}  // namespace postroom::torture
