// Store: one database with its two queues, in the words of the domain.
//
// This is the seam between the queue core and the databases. SQLite, PostgreSQL and the others
// implement it once through the SQL store; MemoryStore is the reference. Applications use the faces
// above it, Outbox and Inbox; a Store is what they open, share and pass around.
//
// Arguments are validated by the faces; a Store still refuses what would corrupt it. Operations
// that write take the transaction to join; with nullptr they run in one of their own, repeated as a
// whole when the database reports a conflict.
//
// Thread safety: all operations may be called concurrently.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "postroom/clock.hpp"
#include "postroom/ids.hpp"
#include "postroom/message.hpp"
#include "postroom/transaction.hpp"

namespace postroom {

struct EnqueueResult {
    WorkItemId id{};
    MessageId message_id{};
    // A message with this idempotency key was there before; the ids are those of that message.
    bool already_existed = false;
    // Written at the top level of its transaction: there when that commits. Otherwise a savepoint
    // may have taken it back.
    bool top_level = true;
};

struct ReceiveResult {
    WorkItemId id{};                  // empty when the message was done before
    std::optional<State> previous{};  // the state before; nullopt: never heard of
    bool hash_mismatch = false;       // stored and given hash differ
};

struct SeenResult {
    std::optional<State> previous{};
    bool hash_mismatch = false;
};

inline constexpr std::size_t claim_bytes_default = std::size_t{32} * 1024 * 1024;

struct ClaimRequest {
    OwnerToken owner{};
    Duration lease = std::chrono::seconds{30};
    std::uint32_t batch = 50;
    // Of payloads and headers together. What goes beyond is left for the next claim.
    std::size_t bytes = claim_bytes_default;
};

enum class Outcome : std::uint8_t {
    ack,      // delivered
    abandon,  // failed this time; again after `delay`, dead when max_attempts is reached
    fail,     // failed for good; an attempt too, unless it died of something else (reason)
    release,  // not tried; back at once, costs no attempt
};

struct Settlement {
    Lease lease{};
    Outcome outcome = Outcome::ack;
    std::string error{};        // abandon, fail: kept as last_error
    std::string destination{};  // abandon, fail: where it was to go, for the failed attempts
    // abandon, fail: when it was claimed, by the database's clock, and how long the delivery took,
    // for the failed attempts too. nullopt: nobody knows.
    std::optional<Instant> claimed_at{};
    std::optional<Duration> took{};
    Duration delay{};                // abandon, release
    std::uint32_t max_attempts = 0;  // abandon: where the message has none of its own; 0: no limit
    DeadReason reason = DeadReason::failed;  // fail
    // Should it die by this: the next message of its ordering key may go on. Otherwise it blocks
    // its key until it is redriven.
    bool frees_key = false;
    // ack, in a transaction of its own: the answer may come before it is safe from a crash of the
    // database. One that is undone by a crash is a redelivery.
    bool relaxed = false;
};

// Whether the message failed by this, rather than being delivered, given back or taken out.
constexpr bool is_failed_attempt(Outcome outcome, DeadReason reason) {
    return outcome == Outcome::abandon ||
           (outcome == Outcome::fail && reason == DeadReason::failed);
}

enum class Settled : std::uint8_t {
    lost,
    done,
    ready,
    dead
};  // lost: the lease was not ours any more

// StateSet: some of the states; the empty set restricts nothing.
class StateSet {
public:
    constexpr StateSet() = default;
    constexpr StateSet(State state) : bits_(bit(state)) {}
    constexpr StateSet(std::initializer_list<State> states) {
        for (const State state : states) bits_ |= bit(state);
    }

    constexpr bool empty() const { return bits_ == 0; }
    constexpr bool contains(State state) const { return (bits_ & bit(state)) != 0; }
    friend constexpr bool operator==(StateSet, StateSet) = default;
    friend constexpr StateSet operator|(StateSet a, StateSet b) {
        a.bits_ |= b.bits_;
        return a;
    }

private:
    static constexpr std::uint32_t bit(State state) {
        return std::uint32_t{1} << static_cast<unsigned>(state);
    }
    std::uint32_t bits_ = 0;
};

// Neither done nor only noted as seen: somebody still has to deliver it, or to look at it.
inline constexpr StateSet open_states{State::ready, State::in_progress, State::dead};

// What find() looks for; unset members do not restrict. An empty text means those without one.
struct Query {
    std::vector<WorkItemId> ids{};
    std::optional<OwnerToken> owner{};  // leased by
    std::optional<std::string> message_id{};
    std::optional<std::string> source{};
    std::optional<std::string> topic{};
    std::optional<std::string> ordering_key{};
    std::optional<std::string> aggregate_type{};
    std::optional<std::string> tenant_id{};
    std::optional<std::string> correlation_id{};
    StateSet state{};
    // Only messages that hold back others of their ordering key: dead, or waiting for another
    // attempt.
    bool blocking = false;
    // Only ready messages that are put off, by a back-off or because they were given back for a
    // while; not those that wait for the due time they were given.
    bool put_off = false;
    bool failed = false;  // only messages that are dead, or failed at least once and are not done
    std::string error_part{};  // last_error has this in it, to the byte; empty does not restrict
    std::optional<Instant> created_from{};
    std::optional<Instant> created_before{};
    // Keyset paging: results come in order of seq, and go on after the last of them, or before it
    // with newest_first. Zero does not restrict. Inbox messages that are not queued (seen, done)
    // have no number: they come first, or last, and are not paged.
    std::uint64_t after_seq = 0;
    std::uint64_t before_seq = 0;
    bool newest_first = false;
    std::uint32_t limit = 100;
    bool payloads = true;  // false: without them; Message::payload_bytes() is told all the same
};

// What a search has found in the time it had.
struct FoundPage {
    std::vector<Message> messages{};
    // Where the search goes on: after_seq of the next query, or before_seq with newest_first. With
    // fewer messages than the limit, that is how far it came. nullopt: there is no more.
    std::optional<std::uint64_t> next_seq{};
};

struct Counts {
    std::uint64_t ready = 0;  // all claimable or waiting for their time
    std::uint64_t in_progress = 0;
    std::uint64_t dead = 0;
    std::uint64_t seen = 0;
    std::uint64_t retrying = 0;       // of `ready` and `in_progress`: failed at least once
    std::uint64_t old_failures = 0;   // of `retrying`: OpenOptions::old_failure_attempts and more
    std::optional<Instant> oldest{};  // created_at of the oldest that is neither done nor dead
    bool estimated = false;           // the numbers are, because counting would take long
};

// One batch of a purge.
struct PurgeRequest {
    Duration older_than{};
    std::uint32_t batch = 1000;
};

struct PurgeResult {
    std::uint64_t purged = 0;
    bool more = false;  // the batch was full: call again
    bool busy = false;  // another purge is at work; nothing was done
};

// Doorbell: how processes on one database tell each other that there is something to claim. A hint
// only: rings are lost and come for nothing, and correctness rests on polling.
//
// A thread that waits on one bell calls wait(). A thread that watches many calls listen() once for
// each, which may take as long as connecting does, and then look() from time to time, or when
// descriptor() is readable.
//
// Thread safety: ring() may be called concurrently; the others by one thread at a time.
class Doorbell {
public:
    Doorbell() = default;
    Doorbell(const Doorbell&) = delete;
    Doorbell& operator=(const Doorbell&) = delete;
    virtual ~Doorbell() = default;

    // Something was committed. Never throws and never waits for long; rings in quick succession
    // are one.
    virtual void ring() noexcept = 0;

    // True when it was rung, or the database changed, since the last call; false after `timeout` or
    // when `stop` was requested. Throws Error{unavailable} when it cannot hear: then poll.
    virtual bool wait(Duration timeout, std::stop_token stop) = 0;

    // Gets ready for look(). Throws Error{unavailable} when it cannot, or `stop` came first. To be
    // called again after look() has thrown.
    virtual void listen(std::stop_token stop);

    // As wait() without waiting. Quick, and needs no connection that listen() has not opened.
    virtual bool look();

    // A file descriptor that is readable when look() has something to tell; -1: there is none.
    virtual int descriptor() const;

    // How long until something in the queue becomes claimable by the passing of time (a due time, a
    // retry, a lease that runs out): zero also when there may be something now, Duration::max()
    // when there is nothing of that kind. A bell has it if look() notices every commit by whoever:
    // then a queue need not be polled before. May be called from any thread while the store lives;
    // throws as the store does. Empty: poll.
    using Forecast = std::function<Duration()>;
    virtual Forecast forecast() const;
};

// The hot path, by which a dispatcher takes over what this process has just committed. It is the
// library's own business: a store passes these on and looks at neither.
struct BornLease;
class HotPath;

class Store {
public:
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    virtual ~Store();

    // A stable name for logs and metrics; holds no secret.
    const std::string& id() const { return id_; }
    // What the faces validate against.
    const Limits& limits() const { return limits_; }

    // The database's clock, which judges every lease, due time and retry.
    virtual Instant now() = 0;

    // The store must outlive the transaction. A PostgreSQL server hears of it with its first
    // statement: that is the time of now() there, and where a server that is gone is noticed.
    [[nodiscard]] virtual std::unique_ptr<Transaction> begin() = 0;

    // Outbox: stores `messages`, results in their order. Every message_id must be filled in. With
    // `born` the rows are leased to that owner from birth; std::invalid_argument for a message with
    // an idempotency key, a due time, an ordering key or a low priority.
    virtual std::vector<EnqueueResult> enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                               const BornLease* born = nullptr) = 0;

    // Outbox: as enqueue() within `tx`, but the answer need not be waited for: it may come with
    // that of the transaction's next statement or of its commit, and so may an error. What comes
    // back is to be read after the commit; a result without an id was refused by the database, and
    // a savepoint took that back. By itself a store waits.
    virtual std::shared_ptr<const std::vector<EnqueueResult>> post(
        TxContext& tx, std::span<const NewMessage> messages, const BornLease* born = nullptr);

    // Outbox: the ids of the message that has this idempotency key; nullopt: none has it, or the
    // store does not look, which by itself it does not.
    virtual std::optional<EnqueueResult> find_key(TxContext* tx, const std::string& tenant_id,
                                                  const std::string& idempotency_key);

    // The rows of messages with this message id to which a key leads, whatever their tenant or
    // source. Outbox: those whose message id is their idempotency key, as it is when the caller
    // gave the one and not the other, for as long as keys are kept. Inbox: all that have content in
    // the queue. By itself a store knows none.
    virtual std::vector<WorkItemId> find_keyed(Queue queue, const std::string& message_id);

    // Outbox: the statement that enqueue() would run for `message`, for use with any driver.
    virtual SqlStatement enqueue_statement(const NewMessage& message) = 0;

    // Inbox: stores or refreshes each message by its key. Done stays done; leased content is left
    // alone; dead stays dead unless `revive`. All of them have last_seen set to now.
    // Messages with an ordering key are numbered in the order given; those of one call without one
    // in any order.
    virtual std::vector<ReceiveResult> receive(TxContext* tx,
                                               std::span<const ReceivedMessage> messages,
                                               bool revive = false) = 0;

    // Inbox: notes that a message with this key was seen, and tells its state before that.
    virtual SeenResult see(TxContext* tx, const InboxKey& key,
                           const std::optional<std::string>& hash) = 0;

    // Inbox: puts the keyed message into `state` (ready, done or dead) whatever it was but done,
    // dropping any lease. Returns the state before; nullopt when there is no such message.
    virtual std::optional<State> mark(TxContext* tx, const InboxKey& key, State state,
                                      const std::string& error) = 0;

    // Leases up to `request.batch` claimable messages and returns them. Messages whose lease has
    // run out are taken over on the way, with lost_count + 1. In order of priority, then of seq.
    // Stops early, with what it has, when `stop` is requested.
    //
    // A message that cannot be read takes nothing else with it: it comes with `unreadable` set, for
    // whoever claimed it to fail. So does one that is larger than `request.bytes` and than the
    // limits allow.
    [[nodiscard]] virtual std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                                                     std::stop_token stop = {}) = 0;

    // Applies each settlement whose lease still stands; results in their order. A settlement whose
    // lease was lost changes nothing. Within `tx` the outcome commits together with the caller's
    // own writes.
    virtual std::vector<Settled> settle(TxContext* tx, Queue queue,
                                        std::span<const Settlement> settlements) = 0;

    // Prolongs leases to now + `lease`. Returns, in order, whether each still stood.
    [[nodiscard]] virtual std::vector<bool> extend(Queue queue, std::span<const Lease> leases,
                                                   Duration lease) = 0;

    // Takes back up to `limit` leases that have run out; their messages are claimable again.
    virtual std::uint64_t reap(Queue queue, std::uint32_t limit, std::stop_token stop = {}) = 0;

    // Stored messages in every state that match, in order of seq.
    virtual std::vector<Message> find(Queue queue, const Query& query) = 0;

    // find() for people, who do not want to wait: goes through the messages in their order, and
    // stops after about `patience` with what it has. Then next_seq says how far it came. A store
    // that is small, or can find whatever is asked for at once, searches to the end.
    virtual FoundPage find_within(Queue queue, const Query& query, Duration patience);

    // How many messages match, whatever the limit. The default reads them all to count them.
    virtual std::uint64_t count(Queue queue, const Query& query);

    // Makes dead messages ready again, with no attempts and no losses counted. Returns how many
    // were.
    virtual std::uint64_t redrive(Queue queue, std::span<const WorkItemId> ids) = 0;

    // Removes one batch of done messages (outbox: history and idempotency keys past their window;
    // inbox: by last_seen) older than the request says.
    virtual PurgeResult purge(Queue queue, const PurgeRequest& request) = 0;

    virtual Counts counts(Queue queue) = 0;

    // A doorbell of this queue; the store must outlive it. Keeps a connection of its own as long as
    // somebody waits.
    virtual std::unique_ptr<Doorbell> doorbell(Queue queue) = 0;

    // The dispatcher of this process that faces on this store hand their messages to; nullptr when
    // there is none. attach() replaces it.
    void attach(Queue queue, std::shared_ptr<HotPath> path);
    // Takes `path` away again, unless another has replaced it.
    void detach(Queue queue, const HotPath& path);
    std::shared_ptr<HotPath> hot_path(Queue queue) const;

    // Tells whoever may want to know that something was committed: the dispatcher attached here
    // and, through the doorbell, those of other processes. A hint; never throws.
    void announce(Queue queue) noexcept;

protected:
    Store(std::string id, const Limits& limits);

private:
    struct Listeners;

    std::string id_;
    Limits limits_;
    std::unique_ptr<Listeners> listeners_;
};

}  // namespace postroom
