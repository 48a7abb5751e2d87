#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/output/message_view.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"
#include "postroom/handler.hpp"

namespace postroom::cli {

namespace {

constexpr std::uint32_t scan_page = 500;
constexpr int pages_max = 40;  // a guess is not worth reading a backlog of millions

// The first message of the same key among those that `where` describes, if it comes before.
std::optional<Message> ahead_of(Store& store, const Message& message, const Query& where) {
    if (message.ordering_key.empty()) return std::nullopt;
    Query query = where;
    query.limit = scan_page;
    for (int pages = 0; pages < pages_max; ++pages) {
        const std::vector<Message> found = store.find(message.queue, query);
        for (const Message& other : found) {
            if (other.id.seq() >= message.id.seq()) return std::nullopt;
            if (other.ordering_key == message.ordering_key) return other;
        }
        if (found.size() < scan_page) return std::nullopt;
        query.after_seq = found.back().id.seq();
    }
    return std::nullopt;
}

bool routed(const Config& config, const Message& message) {
    Routes routes;
    for (const daemon::RoutePlan& route : config.plan.routes)
        routes.on_matching(route.pattern, 1, {});
    return message.queue == Queue::inbox || routes.find(message) != nullptr;
}

std::string because(std::string_view error) {
    return error.empty() ? "" : fmt::format(": {}", printable(shortened(error, 300)));
}

std::string why_ready(const Config& config, Store& store, const Message& message) {
    const Instant now = store.now();
    if (message.queue == Queue::outbox) {
        if (const std::optional<Instant> since = paused_since(store, message.topic)) {
            return fmt::format(
                "topic is paused since {}: 'postroom resume {}' lets it go, unless it waits for "
                "something else too",
                format_time(*since), printable(message.topic));
        }
    }
    if (const auto first = ahead_of(store, message, {.blocking = true})) {
        return fmt::format("held back: {} of the same ordering key goes first and is {}{}",
                           first->id.to_string(), state_word(first->state),
                           because(first->last_error));
    }
    if (const auto first = ahead_of(store, message, {.state = State::in_progress})) {
        return fmt::format("held back: {} of the same ordering key is being delivered",
                           first->id.to_string());
    }
    if (const auto first = ahead_of(store, message, {.state = State::ready})) {
        return fmt::format("held back: {} of the same ordering key goes first and waits too{}",
                           first->id.to_string(),
                           first->available_at > now ? ", until " + format_time(first->available_at)
                                                     : std::string());
    }
    if (message.available_at > now && message.retry_count > 0) {
        return fmt::format("failed {} times, tried again in {}{}", message.retry_count,
                           format_duration(message.available_at - now),
                           because(message.last_error));
    }
    if (message.due_time && *message.due_time > now) {
        return fmt::format("not due yet: due at {}, in {}", format_time(*message.due_time),
                           format_duration(*message.due_time - now));
    }
    if (message.available_at > now) {
        return fmt::format(
            "waits {}: it was given back without an attempt, as for a destination "
            "that is down",
            format_duration(message.available_at - now));
    }
    if (!routed(config, message)) {
        return fmt::format("no route of this configuration takes the topic '{}'",
                           printable(message.topic));
    }
    return fmt::format("ready since {} and not claimed: is a relay running, or is it behind?",
                       format_duration(now - std::max(message.available_at, message.created_at)));
}

std::string why(const Config& config, Store& store, const Message& message) {
    switch (message.state) {
        case State::ready:
            return why_ready(config, store, message);
        case State::in_progress: {
            if (!message.lease) return "being delivered";
            const Duration left = message.lease->locked_until - store.now();
            if (left <= Duration::zero()) {
                return fmt::format(
                    "its worker is gone: the lease ran out {} ago, the next claim "
                    "takes it over",
                    format_duration(-left));
            }
            return fmt::format("being delivered by {}, whose lease runs for another {}",
                               message.lease->owner.to_string(), format_duration(left));
        }
        case State::done:
            return fmt::format(
                "{}{}", was_discarded(message) ? "discarded by an operator" : "delivered",
                message.processed_at ? " at " + format_time(*message.processed_at) : std::string());
        case State::dead:
            return fmt::format(
                "dead ({}) after {} failed attempts{}; 'postroom redrive {}' tries "
                "it again",
                to_string(message.dead_reason), message.retry_count, because(message.last_error),
                message.id.to_string());
        case State::seen:
            return "only noted as seen: it was never enqueued";
    }
    return "in no known state";
}

ExitCode run_explain(const Invocation& in) {
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const Message message = find_message(*store, queue_of(in), in.argument(0));
    const std::string text = why(config, *store, message);
    if (in.json()) {
        print(JsonObject()
                  .add("id", message.id.to_string())
                  .add("state", state_word(message.state))
                  .add("why", text)
                  .text() +
              "\n");
    } else {
        print(text + "\n");
    }
    return ExitCode::ok;
}

}  // namespace

Command explain_command() {
    return {.name = "explain",
            .summary = "Say in one line why a message is not delivered yet.",
            .arguments = {{.name = "ID", .what = "Id of the row, or message id."}},
            .options = {queue_option()},
            .prints = true,
            .run = &run_explain};
}

}  // namespace postroom::cli
