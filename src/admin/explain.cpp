#include "admin/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admin/pauses.hpp"
#include "admin/state_words.hpp"
#include "admin/workers.hpp"
#include "base/duration_text.hpp"
#include "base/rfc3339.hpp"
#include "base/utf8.hpp"

namespace postroom::admin {

namespace {

const char* plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

using base::format_duration;
using base::rfc3339_milliseconds;

constexpr std::size_t error_width = 300;

// The first message of the same key that `wanted` describes, if it comes before this one.
std::optional<Message> first_ahead(Store& store, const Message& message, Query wanted) {
    wanted.ordering_key = message.ordering_key;
    wanted.limit = 1;
    wanted.payloads = false;
    std::vector<Message> found = store.find(message.queue, wanted);
    if (found.empty() || found.front().id.seq() >= message.id.seq()) return std::nullopt;
    return std::move(found.front());
}

// Who of its ordering key keeps it waiting.
bool held_by_key(Store& store, Explanation& out) {
    if (out.message.ordering_key.empty()) return false;
    out.ahead = first_ahead(store, out.message, {.blocking = true});
    out.reason = Reason::behind_blocking;
    if (out.ahead) return true;
    out.ahead = first_ahead(store, out.message, {.state = {State::ready, State::in_progress}});
    if (!out.ahead) return false;
    out.reason =
        out.ahead->state == State::in_progress ? Reason::behind_delivering : Reason::behind_waiting;
    return true;
}

Reason why_it_waits(const Message& message, Instant now, const IsRouted& routed) {
    if (message.available_at > now && message.retry_count > 0) return Reason::retries_later;
    if (message.due_time && *message.due_time > now) return Reason::not_due;
    if (message.available_at > now) return Reason::given_back;
    if (routed && !routed(message)) return Reason::no_route;
    return Reason::unclaimed;
}

// The dispatchers have met its topic, and leave the destination alone.
void ask_workers(Store& store, Explanation& out) {
    const std::vector<WorkerReport> workers = workers_of(store, out.message.queue);
    out.nobody_at_work = controls_of(store) != nullptr && workers.empty();
    out.circuit = circuit_for(out.message, destinations_down(workers), out.now);
    if (out.circuit) out.reason = Reason::destination_down;
}

void explain_ready(Store& store, Explanation& out, const IsRouted& routed) {
    if (out.message.queue == Queue::outbox)
        out.pause = pause_of(paused_topics(store), out.message.topic);
    if (out.pause) {
        out.reason = Reason::paused;
    } else if (!held_by_key(store, out)) {
        out.reason = why_it_waits(out.message, out.now, routed);
        if (out.reason != Reason::not_due) ask_workers(store, out);
    }
}

void explain_in_progress(Store& store, Explanation& out) {
    const std::optional<Lease>& lease = out.message.lease;
    const bool over = lease && lease->locked_until <= out.now;
    out.reason = over ? Reason::worker_gone : Reason::delivering;
    if (!lease || over) return;
    for (WorkerReport& worker : workers_of(store, out.message.queue))
        if (worker.owner == lease->owner) out.holder = std::move(worker);
}

std::string because(std::string_view error) {
    return error.empty() ? "" : fmt::format(": {}", base::shortened(error, error_width));
}

std::string sentence_of_ahead(const Explanation& e) {
    const Message& first = *e.ahead;
    if (e.reason == Reason::behind_blocking)
        return fmt::format("held back: {} of the same ordering key goes first and is {}{}",
                           first.id.to_string(), state_word(first.state),
                           because(first.last_error));
    if (e.reason == Reason::behind_delivering)
        return fmt::format("held back: {} of the same ordering key is being delivered",
                           first.id.to_string());
    return fmt::format(
        "held back: {} of the same ordering key goes first and waits too{}", first.id.to_string(),
        first.available_at > e.now ? ", until " + rfc3339_milliseconds(first.available_at) : "");
}

// So that a command can be copied whatever is in it: a pattern would be taken for names of files,
// and somebody else's topic for a command of its own.
std::string as_shell_word(const std::string& text) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@%+=,";
    if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
    if (text.find_first_of("\"$`\\!") == std::string::npos) return fmt::format("\"{}\"", text);
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::string sentence_of_waiting(const Explanation& e) {
    const Message& message = e.message;
    if (e.reason == Reason::paused)
        return fmt::format(
            "topic has been paused since {}: 'postroom resume {}' lets it go, unless it waits for "
            "something else too",
            rfc3339_milliseconds(e.pause->since), as_shell_word(e.pause->topic));
    if (e.reason == Reason::retries_later)
        return fmt::format("failed {} time{}, tried again in {}{}", message.retry_count,
                           plural(message.retry_count),
                           format_duration(message.available_at - e.now),
                           because(message.last_error));
    if (e.reason == Reason::not_due)
        return fmt::format("not due yet: due at {}, in {}", rfc3339_milliseconds(*message.due_time),
                           format_duration(*message.due_time - e.now));
    if (e.reason == Reason::given_back)
        return fmt::format(
            "waits {}: it was given back without an attempt, as for a destination that is down, "
            "or whose rate is used up",
            format_duration(message.available_at - e.now));
    if (e.reason == Reason::destination_down)
        return fmt::format("waits for {}", sentence_of(*e.circuit, e.now));
    if (e.reason == Reason::no_route)
        return fmt::format("no route of this configuration takes the topic '{}'", message.topic);
    return fmt::format(
        "ready for {} and not claimed: {}",
        format_duration(e.now - std::max(message.available_at, message.created_at)),
        e.nobody_at_work ? "nobody is at work here, is a relay running?" : "is the relay behind?");
}

std::string sentence_of_lease(const Explanation& e) {
    if (!e.message.lease) return "being delivered";
    const Duration left = e.message.lease->locked_until - e.now;
    if (e.reason == Reason::worker_gone)
        return fmt::format(
            "its worker is gone: the lease ran out {} ago, the next claim takes it over",
            format_duration(-left));
    const std::string owner = e.message.lease->owner.to_string();
    const std::optional<Instant> since = leased_at(e);
    return fmt::format(
        "being delivered by {}{}, whose lease {}runs for another {}", owner,
        e.holder ? fmt::format(" on {} (process {})", e.holder->host, e.holder->pid) : "",
        since ? fmt::format("was taken or renewed {} ago and ",
                            format_duration(std::max(Duration::zero(), Duration(e.now - *since))))
              : "",
        format_duration(left));
}

std::string sentence_of_end(const Explanation& e) {
    const std::optional<Instant>& at = e.message.processed_at;
    return fmt::format("{}{}",
                       e.reason == Reason::discarded ? "discarded by an operator" : "delivered",
                       at ? " at " + rfc3339_milliseconds(*at) : "");
}

}  // namespace

Explanation explain(Store& store, const Message& message, const IsRouted& routed) {
    Explanation out{.message = message, .now = store.now()};
    switch (message.state) {
        case State::ready:
            explain_ready(store, out, routed);
            break;
        case State::in_progress:
            explain_in_progress(store, out);
            break;
        case State::done:
            out.reason = was_discarded(message) ? Reason::discarded : Reason::delivered;
            break;
        case State::dead:
            out.reason = Reason::dead;
            break;
        case State::seen:
            out.reason = Reason::only_seen;
            break;
    }
    return out;
}

std::optional<Instant> leased_at(const Explanation& e) {
    if (!e.holder || !e.message.lease || e.holder->lease == Duration::zero()) return std::nullopt;
    return e.message.lease->locked_until - e.holder->lease;
}

std::string_view reason_word(Reason reason) {
    static constexpr std::array words{
        "paused",     "behind_blocking", "behind_delivering", "behind_waiting", "retries_later",
        "not_due",    "given_back",      "destination_down",  "no_route",       "unclaimed",
        "delivering", "worker_gone",     "delivered",         "discarded",      "dead",
        "only_seen"};
    static_assert(words.size() == static_cast<std::size_t>(Reason::only_seen) + 1);
    return words.at(static_cast<std::size_t>(reason));
}

std::string sentence_of(const Explanation& e) {
    switch (e.reason) {
        case Reason::behind_blocking:
        case Reason::behind_delivering:
        case Reason::behind_waiting:
            return sentence_of_ahead(e);
        case Reason::delivering:
        case Reason::worker_gone:
            return sentence_of_lease(e);
        case Reason::delivered:
        case Reason::discarded:
            return sentence_of_end(e);
        case Reason::dead:
            return fmt::format(
                "dead ({}){} after {} failed attempt{}{}; 'postroom redrive {}' tries it again",
                to_string(e.message.dead_reason),
                e.message.died_at ? " since " + rfc3339_milliseconds(*e.message.died_at) : "",
                e.message.retry_count, plural(e.message.retry_count), because(e.message.last_error),
                e.message.id.to_string());
        case Reason::only_seen:
            return "only noted as seen: it was never enqueued";
        default:
            return sentence_of_waiting(e);
    }
}

}  // namespace postroom::admin
