#include <fmt/format.h>

#include <set>

#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/message_view.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

constexpr std::int64_t limit_max = 10'000;

Query query_of(const Invocation& in) {
    Query query;
    if (in.has("topic")) query.topic = in.value("topic");
    if (in.has("state")) query.state = state_from(in.value("state"));
    if (in.has("message-id")) query.message_id = in.value("message-id");
    if (in.has("source")) query.source = in.value("source");
    query.blocking = in.has("blocking");
    const std::optional<std::int64_t> limit = parse_integer(in.value("limit", "100"));
    const std::optional<std::int64_t> after = parse_integer(in.value("after-seq", "0"));
    if (!limit || *limit < 1 || *limit > limit_max)
        throw Failure(ExitCode::usage,
                      fmt::format("--limit must be a whole number from 1 to {}", limit_max));
    if (!after || *after < 0)
        throw Failure(ExitCode::usage, "--after-seq must be a whole number, 0 or more");
    query.limit = static_cast<std::uint32_t>(*limit);
    query.after_seq = static_cast<std::uint64_t>(*after);
    return query;
}

std::set<std::string> paused_topics(Store& store, Queue queue) {
    std::set<std::string> topics;
    if (queue == Queue::inbox) return topics;
    for (const PausedTopic& paused : controls(store).paused_topics()) topics.insert(paused.topic);
    return topics;
}

ExitCode run_list(const Invocation& in) {
    const Query query = query_of(in);
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const std::vector<Message> messages = store->find(queue_of(in), query);
    Table table = message_table();
    JsonArray array;
    const Instant now = store->now();
    const std::set<std::string> paused = paused_topics(*store, queue_of(in));
    for (const Message& message : messages) {
        const bool held = message.state == State::ready && paused.contains(message.topic);
        if (in.json()) {
            array.add_json(message_view_json(message, false, held));
        } else {
            add_message(table, message, now, held);
        }
    }
    if (in.json()) {
        print(array.text() + "\n");
        return ExitCode::ok;
    }
    print(messages.empty() ? "no such messages\n" : table.text());
    if (messages.size() == query.limit) {
        print(fmt::format("there may be more: --after-seq {}\n", messages.back().id.seq()));
    }
    return ExitCode::ok;
}

}  // namespace

Command list_command() {
    return {.name = "list",
            .summary = "List messages, the oldest first, without their payloads.",
            .options =
                {queue_option(),
                 {.name = "state",
                  .value = "STATE",
                  .what = "Only those in this state.",
                  .choices = state_words()},
                 {.name = "topic", .value = "TOPIC", .what = "Only those of this topic, exactly."},
                 {.name = "message-id", .value = "ID", .what = "Only those with this message id."},
                 {.name = "source", .value = "SOURCE", .what = "Inbox: only those from there."},
                 {.name = "blocking",
                  .what = "Only those that hold back others of their ordering key."},
                 {.name = "after-seq",
                  .value = "N",
                  .what = "Only those behind this number: how to page."},
                 {.name = "limit", .value = "N", .what = "So many at most; 100."}},
            .examples = {"postroom list --state dead", "postroom list --topic order.placed --json"},
            .prints = true,
            .run = &run_list};
}

}  // namespace postroom::cli
