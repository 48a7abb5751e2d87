// History: what the journals of all workers say, held against what the database has in the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "postroom/message.hpp"
#include "torture/holds.hpp"

namespace postroom::torture {

// What a database has in the end.
struct Stored {
    std::map<std::string, std::vector<State>> states{};  // of each message id, one per row
    std::set<std::string> orders{};

    bool operator==(const Stored&) const = default;
};

class History {
public:
    // Every journal in `folder` (see torture/journal.hpp).
    explicit History(const std::filesystem::path& folder);

    const Holds& holds() const { return holds_; }
    const std::vector<std::string>& errors() const { return errors_; }

    std::uint64_t confirmed() const;    // messages whose commit was confirmed
    std::uint64_t rolled_back() const;  // messages whose transaction was to be rolled back
    std::uint64_t in_doubt() const;     // neither: killed around the commit
    std::uint64_t acked() const { return acked_.size(); }
    std::uint64_t lost_leases() const { return lost_leases_; }
    std::uint64_t handed_over() const { return handed_over_; }  // in memory, by dispatchers

    // One line for each promise that a database, drained by now, does not keep.
    std::vector<std::string> broken_promises(const Stored& stored) const;
    // Forgets the transactions of which a database has nothing, and all that was done with their
    // messages: a standby took over before it had them. Returns how many of them were confirmed.
    std::uint64_t forget_missing(const Stored& stored);
    // Confirmed messages that it does not have.
    std::uint64_t lost(const Stored& stored) const;

private:
    struct Plan {
        bool commit = false;
        bool order = false;
        bool kept = false;
        std::vector<std::string> ids;
    };

    void read(const std::filesystem::path& path);
    Hold* hold(const std::string& id, std::int64_t lease_id);
    void check_plan(const Plan& plan, const Stored& stored, std::vector<std::string>& broken) const;
    void check_message(const std::string& id, const std::vector<State>& states,
                       std::vector<std::string>& broken) const;
    template <class Predicate>
    std::uint64_t count_messages(Predicate predicate) const;

    std::vector<Plan> plans_;
    Holds holds_;
    std::set<std::string> ack_tried_;
    std::set<std::string> fail_tried_;
    std::map<std::string, int> acked_;  // how often it was told to be done
    std::set<std::string> failed_;
    std::uint64_t lost_leases_ = 0;
    std::uint64_t handed_over_ = 0;
    std::vector<std::string> errors_;
};

}  // namespace postroom::torture
