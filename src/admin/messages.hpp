// Looking at a queue: how much lies in it, its messages page by page, and one of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "postroom/operator.hpp"
#include "postroom/restore.hpp"

namespace postroom::admin {

struct QueueStatus {
    std::string store{};
    Queue queue = Queue::outbox;
    Instant now{};  // the database's clock, when the counts were taken
    Counts counts{};
    std::vector<PausedTopic> paused{};  // outbox
    std::vector<WorkerReport> workers{};
    std::vector<CircuitReport> down{};  // destinations that they wait for
    std::optional<RestoreHold> hold{};  // outbox: delivery is held
};

QueueStatus queue_status(Store& store, Queue queue);

struct ListedMessage {
    Message message{};
    bool paused = false;                       // it is ready, and its topic is paused
    std::optional<CircuitReport> waits_for{};  // it is ready, and its destination is down
};

struct MessagePage {
    Instant now{};  // the database's clock
    std::vector<ListedMessage> messages{};
    // Where the next page begins: after_seq of its query, or before_seq with newest_first. nullopt:
    // this is the last one.
    std::optional<std::uint64_t> next_seq{};
    bool cut_short = false;  // there was no time to fill the page; it goes on behind next_seq
};

// How long a page may be looked for, so that it is there in a tenth of a second.
inline constexpr Duration page_patience = std::chrono::milliseconds{50};

// What matches `query`, without payloads, as far as `patience` goes; Duration::max(): to the end.
// With less, messages of a time are looked for where their numbers say that they are
// (created_numbers.hpp). With a `fingerprint` only the dead letters of that group
// (dead_letters.hpp).
MessagePage list_messages(Store& store, Queue queue, Query query, Duration patience = page_patience,
                          const std::string& fingerprint = {});

// What a search for at most `limit` messages has found, as a page.
MessagePage page_of(Store& store, Queue queue, std::uint32_t limit, FoundPage found);

// By name: none, one, or `several` that share a message id and are told apart by the ids of their
// rows.
struct NamedMessage {
    std::optional<Message> message{};
    bool several = false;
    // There was no time to look at all: below this number it may still be.
    std::optional<std::uint64_t> searched_to{};
};

struct NameSearch {
    bool payload = false;
    Duration patience = page_patience;  // Duration::max(): to the end
};

// A message with its failed deliveries, oldest first.
struct MessageDetail {
    Message message{};
    std::vector<FailedAttempt> attempts{};
    Instant now{};                             // the database's clock
    std::optional<CircuitReport> waits_for{};  // it is ready, and its destination is down
};

MessageDetail detail_of(Store& store, Message message);

// A row by its number alone, for people: "@17". After a restore the number may be another row's, so
// it is for what was just read and is typed by hand. A row without a number keeps its whole id.
std::string short_id(const WorkItemId& id);

// `id` is the id of a row, its short id, or a message id. Most message ids are soon found: they
// tell their time, or are keys. One that is neither (from a plain INSERT, or given together with
// another idempotency key) is searched for from the newest message on, for as long as there is
// patience.
NamedMessage find_message(Store& store, Queue queue, const std::string& id,
                          const NameSearch& search = {});

}  // namespace postroom::admin
