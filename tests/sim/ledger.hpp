// Ledger: what was written, what handlers said, and what the database shows; the invariants of
// every single message are judged here.
//
// Messages are known by number, which is their payload.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "postroom/store.hpp"
#include "postroom/testing.hpp"
#include "sim/profile.hpp"
#include "sim/report.hpp"

namespace postroom::sim {

// What is known about the transaction that wrote a message.
enum class Fate : std::uint8_t { open, unknown, committed, absent };

// What a handler said.
enum class Saying : std::uint8_t { nothing, done, retry, fail, down, store_failed };

struct HandlerCall {
    int life = 0;  // of the process
    bool running = true;
    Saying saying = Saying::nothing;
};

struct Written {
    std::string topic{};
    std::string key{};
    std::optional<int> parent{};  // an effect of this message's handler
    std::optional<Instant> expires_at{};
    Fate fate = Fate::unknown;
    std::map<LeaseId, HandlerCall> calls{};
    std::set<LeaseId> leases{};  // all it ever had
};

using Rows = std::map<int, Message>;

class Ledger {
public:
    Ledger(MemoryStore& database, const Profile& profile, Report& report)
        : database_(database), profile_(profile), report_(report) {}

    int add(Written written);
    Written& of(int number) { return written_.at(static_cast<std::size_t>(number)); }
    int size() const { return static_cast<int>(written_.size()); }
    static int number_of(const std::string& payload) { return std::stoi(payload); }

    // Committed: it must be there. Absent: it must never be.
    void set_fate(int number, Fate fate);

    // Looks at the database again. Returns what it showed before.
    Rows refresh();
    const Rows& rows() const { return rows_; }

    void started(int life, const OwnerToken& owner, const Message& message, bool clock_is_true);
    void said(const Message& message, Saying saying);
    // The call is over; a transaction that could not even begin has kept its handler from it.
    void returned(const Message& message);
    void process_ended(int life);
    // The settlement is one that what happened to the message allows.
    void settled(const Message& before, const Settlement& settlement);

    // Neither done nor dead, and nothing stands in its way.
    bool unfinished(const Message& row) const;
    std::size_t backlog() const;
    std::string describe_backlog() const;
    void judge_end();

private:
    void judge_row(int number, const Message* before, const Message& now);
    void judge_effects();
    bool waits_for_ever(const Message& row) const;
    bool blocked(int number, const Message& row) const;
    bool may_fail(const Written& written, const HandlerCall* call, const Message& before,
                  const Settlement& settlement) const;
    bool unroutable(const Written& written) const { return written.topic == "nobody"; }

    MemoryStore& database_;
    const Profile& profile_;
    Report& report_;
    std::vector<Written> written_;
    Rows rows_;
};

bool is_final(const Message& row);

}  // namespace postroom::sim
