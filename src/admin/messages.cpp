#include "admin/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

#include "admin/created_numbers.hpp"
#include "admin/dead_letters.hpp"
#include "admin/pauses.hpp"
#include "admin/restore.hpp"
#include "admin/workers.hpp"

namespace postroom::admin {

namespace {

// The number in a short id.
std::optional<std::uint64_t> seq_of(std::string_view id) {
    if (!id.starts_with('@')) return std::nullopt;
    std::uint64_t seq = 0;
    const char* const end = id.data() + id.size();
    const auto [stopped, error] = std::from_chars(id.data() + 1, end, seq);
    const bool whole = error == std::errc() && stopped == end;
    return whole && seq > 0 && seq <= WorkItemId::seq_max ? std::optional(seq) : std::nullopt;
}

// Whoever gave the id may have another clock than the database, and may have waited with it.
constexpr Duration clock_slack = std::chrono::seconds{5};

// An id that tells when it was made also tells where to look, without an index of message ids,
// which every enqueue would pay for.
std::vector<Message> find_where_its_time_says(Store& store, Queue queue, Query query) {
    const std::optional<Instant> made = time_in_message_id(*query.message_id);
    if (!made) return {};
    const NumberRange numbers = numbers_created(
        store, {.queue = queue, .from = *made, .before = *made, .slack = clock_slack});
    query.after_seq = numbers.after;
    query.before_seq = numbers.before;
    return store.find(queue, query);
}

// An id that the caller gave is an idempotency key too, and the inbox knows all of its messages by
// their keys. Without content in the queue those have no number.
std::vector<Message> find_by_key(Store& store, Queue queue, const Query& query) {
    std::vector<Message> found;
    const std::vector<WorkItemId> keyed = store.find_keyed(queue, *query.message_id);
    if (!keyed.empty())
        found = store.find(queue, {.ids = keyed, .limit = query.limit, .payloads = query.payloads});
    std::erase_if(found, [&](const Message& m) { return m.message_id.str() != *query.message_id; });
    if (queue == Queue::outbox) return found;
    Query unnumbered = query;
    unnumbered.before_seq = 1;
    std::vector<Message> past = store.find(queue, unnumbered);
    std::move(past.begin(), past.end(), std::back_inserter(found));
    return found;
}

// Mostly people ask for what has just been written: that is soon found. The keys of the outbox are
// not kept as long as its dead messages, so whoever wants to be certain that no other tenant has
// the same id searches to the end.
FoundPage find_by_message_id(Store& store, Queue queue, Query query, Duration patience) {
    std::vector<Message> found;
    if (queue == Queue::outbox) found = find_where_its_time_says(store, queue, query);
    const bool at_its_time = !found.empty();
    if (at_its_time && patience != Duration::max()) return {.messages = std::move(found)};
    for (Message& keyed : find_by_key(store, queue, query))
        if (std::ranges::find(found, keyed.id, &Message::id) == found.end())
            found.push_back(std::move(keyed));
    const bool certain = at_its_time || found.size() > 1 || queue == Queue::inbox;
    if (!found.empty() && (certain || patience != Duration::max()))
        return {.messages = std::move(found)};
    query.newest_first = true;
    return store.find_within(queue, query, patience);
}

// Of messages in the order of their numbers only those that can be of that time.
void narrow_to_time(Store& store, Queue queue, Query& query) {
    if (queue != Queue::outbox || !(query.created_from || query.created_before)) return;
    const NumberRange numbers = numbers_created(store, {.queue = queue,
                                                        .states = query.state,
                                                        .from = query.created_from,
                                                        .before = query.created_before,
                                                        .after_seq = query.after_seq,
                                                        .before_seq = query.before_seq});
    query.after_seq = numbers.after;
    query.before_seq = numbers.before;
}

// Asks who is at work once, and only when there is a message that may wait for its destination.
void mark_waiting(Store& store, Queue queue, MessagePage& page) {
    const auto may_wait = [](const ListedMessage& listed) {
        return listed.message.state == State::ready && !listed.paused;
    };
    if (std::ranges::none_of(page.messages, may_wait)) return;
    std::vector<CircuitReport> down;
    try {
        down = destinations_down(workers_of(store, queue));
    } catch (const Error& error) {
        // Who may not see the workers sees the messages all the same.
        if (error.kind() != ErrorKind::rejected) throw;
    }
    for (ListedMessage& listed : page.messages)
        if (may_wait(listed)) listed.waits_for = circuit_for(listed.message, down, page.now);
}

}  // namespace

QueueStatus queue_status(Store& store, Queue queue) {
    QueueStatus status{.store = store.id(), .queue = queue, .now = store.now()};
    status.counts = store.counts(queue);
    if (queue == Queue::outbox) {
        status.paused = paused_topics(store);
        status.hold = restore_hold(store);
    }
    status.workers = workers_of(store, queue);
    status.down = destinations_down(status.workers);
    return status;
}

MessagePage list_messages(Store& store, Queue queue, Query query, Duration patience,
                          const std::string& fingerprint) {
    query.payloads = false;
    if (patience != Duration::max()) narrow_to_time(store, queue, query);
    return page_of(store, queue, query.limit,
                   fingerprint.empty() ? store.find_within(queue, query, patience)
                                       : find_group(store, queue, query, fingerprint, patience));
}

MessagePage page_of(Store& store, Queue queue, std::uint32_t limit, FoundPage found) {
    MessagePage page{.next_seq = found.next_seq,
                     .cut_short = found.next_seq && found.messages.size() < limit};
    std::vector<PausedTopic> paused;
    if (queue == Queue::outbox) paused = paused_topics(store);
    for (Message& message : found.messages) {
        const bool held = message.state == State::ready && pause_of(paused, message.topic);
        page.messages.push_back({.message = std::move(message), .paused = held});
    }
    page.now = store.now();
    mark_waiting(store, queue, page);
    return page;
}

std::string short_id(const WorkItemId& id) {
    return id.seq() == 0 ? id.to_string() : fmt::format("@{}", id.seq());
}

MessageDetail detail_of(Store& store, Message message) {
    const Queue queue = message.queue;
    MessagePage page = page_of(store, queue, 1, {.messages = {std::move(message)}});
    ListedMessage& listed = page.messages.front();
    MessageDetail out{.message = std::move(listed.message),
                      .now = page.now,
                      .waits_for = std::move(listed.waits_for)};
    if (StoreControls* const desk = controls_of(store))
        out.attempts = desk->attempts(queue, out.message.id);
    return out;
}

NamedMessage find_message(Store& store, Queue queue, const std::string& id,
                          const NameSearch& search) {
    FoundPage page;
    if (const std::optional<std::uint64_t> seq = seq_of(id)) {
        page.messages = store.find(queue, {.after_seq = *seq - 1,
                                           .before_seq = *seq + 1,
                                           .limit = 1,
                                           .payloads = search.payload});
    }
    if (const std::optional<WorkItemId> row = WorkItemId::parse(id))
        page.messages = store.find(queue, {.ids = {*row}, .limit = 2, .payloads = search.payload});
    if (page.messages.empty())
        page = find_by_message_id(store, queue,
                                  {.message_id = id, .limit = 2, .payloads = search.payload},
                                  search.patience);
    if (page.messages.size() > 1) return {.several = true};
    if (page.messages.empty()) return {.searched_to = page.next_seq};
    return {.message = std::move(page.messages.front())};
}

}  // namespace postroom::admin
