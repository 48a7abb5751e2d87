// What an operator does to a store, beside what workers do with its queues (store.hpp): its schema,
// paused topics, discarded messages, who is at work, what failed and why, a look at its health.
//
// Thread safety: all operations may be called concurrently.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/store.hpp"

namespace postroom {

struct SchemaReport {
    int version = 0;                     // the highest migration applied; 0: none
    std::vector<std::string> pending{};  // migrations of this library not applied yet
    // Routines that differ from this library's, and serve it all the same; deploy() replaces them.
    std::vector<std::string> outdated{};
    std::vector<std::string>
        drift{};         // one line for each object that is missing or was changed by hand
    bool newer = false;  // the database was migrated by a newer library

    bool up_to_date() const {
        return pending.empty() && outdated.empty() && drift.empty() && !newer;
    }
};

// Schema: the tables, views and functions that a store needs in its database; see open_schema().
//
// Migrations are numbered, embedded in the library and additive. Deploying takes a lock, so that
// any number of processes may do it at the same time: one applies them, the others find them
// applied.
class Schema {
public:
    Schema() = default;
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;
    virtual ~Schema() = default;

    // Applies what is pending. Doing it again does nothing.
    virtual void deploy() = 0;

    // Looks, changes nothing.
    virtual SchemaReport report() = 0;

    // The SQL of all migrations with the configured names, for a DBA to read or to run by hand.
    virtual std::string script() const = 0;
};

struct PausedTopic {
    std::string topic{};
    Instant since{};
};

// What a look at the database itself found: its durability, the plan of a claim, who holds an old
// snapshot. The text is for people and holds neither payloads nor queries.
struct Finding {
    enum class Health : std::uint8_t { good, warning, bad };
    std::string check{};
    Health health = Health::good;
    std::string what{};
};

// A destination that a dispatcher leaves alone because it was down when last tried.
struct CircuitReport {
    std::string destination{};
    std::string error{};                // of the last try
    Instant since{};                    // when it went down
    Instant next_probe{};               // past: one is due or under way
    std::vector<std::string> topics{};  // of messages that wait for it, as far as they were met

    friend bool operator==(const CircuitReport&, const CircuitReport&) = default;
};

// How an inbox message came again: known and not to be handled once more, or with other content.
enum class Repeat : std::uint8_t { duplicate, hash_mismatch };

// What came again from one source, as one process saw it since it opened the store. An empty source
// stands for those beyond the number that is told apart.
struct SourceRepeats {
    std::string source{};
    std::uint64_t duplicates = 0;
    std::uint64_t hash_mismatches = 0;

    friend bool operator==(const SourceRepeats&, const SourceRepeats&) = default;
};

// One dispatcher at work on one queue, as it last described itself.
//
// Whoever reports gives the times by a clock of its own, with `last_seen` as the present; whoever
// reads gets them by the database's.
struct WorkerReport {
    OwnerToken owner{};
    Queue queue = Queue::outbox;
    std::string host{};
    std::int64_t pid = 0;
    std::string version{};
    Instant started{};
    Instant last_seen{};
    // How often it reports; one that is silent for much longer is gone. See is_silent().
    Duration interval = std::chrono::seconds{5};
    Duration lease{};  // for how long it claims, and renews what it has claimed; zero: not known
    std::vector<std::string> topics{};  // that it has handlers for; `*`: any
    std::vector<CircuitReport> circuits{};
    std::uint64_t in_hand = 0;  // messages that it holds
    double delivered_per_second = 0;
    double failed_per_second = 0;
    // Of its process: two of one process say the same.
    std::vector<SourceRepeats> repeats{};

    friend bool operator==(const WorkerReport&, const WorkerReport&) = default;
};

bool is_silent(const WorkerReport& worker, Instant now);
// The order in which they are listed: those who started at the same time by owner and queue.
bool started_before(const WorkerReport& a, const WorkerReport& b);
// Moves every time in the report by as much: from one clock to another.
void shift_times(WorkerReport& worker, Duration by);

// A delivery that failed.
struct FailedAttempt {
    Instant at{};
    OwnerToken worker{};
    std::string destination{};  // the topic itself where none was given
    Outcome outcome = Outcome::abandon;
    std::string error{};
    // When the message was claimed for it, and how long the delivery took. nullopt: not known, as
    // of a worker that claims and settles without a dispatcher.
    std::optional<Instant> claimed_at{};
    std::optional<Duration> took{};
};

// "ack", "abandon", "fail", "release".
std::string_view to_string(Outcome outcome);

// So many are kept of a message, the last ones, and so much of the error of each.
inline constexpr std::size_t attempts_kept_max = 20;
inline constexpr std::size_t attempt_error_chars_max = 1000;

// Something that an operator changed or revealed.
struct AuditEntry {
    std::uint64_t id = 0;
    Instant at{};
    std::string who{};     // user@host, or the name of a token
    std::string what{};    // the verb: "redrive", "pause"
    std::string target{};  // one message, a topic, or a filter
    std::uint64_t count = 0;
    std::string outcome{};
};

// StoreControls: pausing, discarding, examining, and the records that operators read.
//
// A topic that is paused here is paused for everybody: the list lies in the database, and each
// relay looks at it every second or two. A message that is discarded is gone for good; where the
// store keeps history, that shows it as done and was_discarded() tells it from a delivered one.
class StoreControls {
public:
    StoreControls() = default;
    StoreControls(const StoreControls&) = delete;
    StoreControls& operator=(const StoreControls&) = delete;
    virtual ~StoreControls() = default;

    // Topics of the outbox that are paused, in order of their names.
    virtual std::vector<PausedTopic> paused_topics() = 0;

    // Pausing what is paused, or resuming what is not, does nothing. Throws std::invalid_argument
    // for a name that no topic can have.
    virtual void pause_topic(const std::string& topic) = 0;
    virtual void resume_topic(const std::string& topic) = 0;

    // Removes those of these messages that are dead, or ready and held by nobody, and returns how
    // many went. It leases them first: if this process ends in between, that lease runs out like
    // that of any lost worker. What somebody has locked at this moment is left. An inbox remembers
    // them as done: they are not taken again when they are sent again.
    virtual std::uint64_t discard(Queue queue, std::span<const WorkItemId> ids) = 0;

    // Messages that are ready but put off, by a back-off or because they were given back for a
    // while, become claimable now. The due time that a message was given still counts. Returns how
    // many there were.
    virtual std::uint64_t retry_now(Queue queue, std::span<const WorkItemId> ids) = 0;

    // Writes down who is at work, in place of what this owner said of this queue before.
    virtual void report_worker(const WorkerReport& report) = 0;
    // It has stopped.
    virtual void forget_worker(const OwnerToken& owner, Queue queue) = 0;
    // Those who are not silent, in the order in which they started.
    virtual std::vector<WorkerReport> workers() = 0;

    // What an Inbox of this process saw come again, for reports of workers and for admin servers.
    // Kept in memory and bounded; a store that keeps nothing of it has none to tell.
    virtual void note_repeat(const std::string& source, Repeat what);
    virtual std::vector<SourceRepeats> repeats() const;

    // The last failed deliveries of a message, oldest first; none once the message is gone.
    virtual std::vector<FailedAttempt> attempts(Queue queue, const WorkItemId& id) = 0;

    // Appends to the audit log; `id` and `at` are the store's to give. Nothing removes an entry.
    virtual void record_audit(const AuditEntry& entry) = 0;
    // The newest entries before `before_id` (0: of all), newest first.
    virtual std::vector<AuditEntry> audit_log(std::uint64_t before_id, std::uint32_t limit) = 0;

    // Looks at what makes such a store slow or unsafe. Changes nothing; what this user may not see
    // is a warning.
    virtual std::vector<Finding> examine() = 0;
};

// nullptr for a store that has no such thing.
StoreControls* controls_of(Store& store);

// Whom the history names for messages that were discarded.
const OwnerToken& discard_owner();
bool was_discarded(const Message& message);

}  // namespace postroom
