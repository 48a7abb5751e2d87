#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"
#include "postroom/inbox.hpp"
#include "postroom/outbox.hpp"

namespace postroom::cli {

namespace {

constexpr std::uint32_t page = 500;
constexpr std::uint64_t counted_max = 100'000;

std::uint64_t purge(Store& store, Queue queue, Duration older_than) {
    Progress progress("purged");
    const auto tell = [&progress](std::uint64_t done) { progress.at(done); };
    if (queue == Queue::inbox) return Inbox(store).purge(older_than, 1000, tell);
    return Outbox(store).purge(older_than, 1000, tell);
}

// How many a purge would remove, or counted_max when there are at least so many.
std::uint64_t count(Store& store, Queue queue, Duration older_than) {
    const Instant before = store.now() - older_than;
    Query query{.state = State::done, .limit = page};
    std::uint64_t total = 0;
    while (total < counted_max) {
        const std::vector<Message> found = store.find(queue, query);
        for (const Message& message : found) {
            const std::optional<Instant>& at =
                queue == Queue::inbox ? message.last_seen : message.processed_at;
            if (at && *at < before) ++total;
        }
        // Done messages of the inbox have no numbers to page by.
        if (found.size() < page || found.back().id.seq() <= query.after_seq) break;
        query.after_seq = found.back().id.seq();
    }
    return std::min(total, counted_max);
}

ExitCode run(const Invocation& in) {
    const Queue queue = queue_of(in);
    const std::optional<Duration> older_than =
        parse_duration(in.value("older-than", queue == Queue::inbox ? "30d" : "7d"));
    if (!older_than)
        throw Failure(ExitCode::usage,
                      "--older-than needs a number with a unit, such as 12h or 7d");
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const std::uint64_t done =
        in.dry_run() ? count(*store, queue, *older_than) : purge(*store, queue, *older_than);
    if (in.json()) {
        print(JsonObject()
                  .add(in.dry_run() ? "would_purge" : "purged", done)
                  .add("dry_run", in.dry_run())
                  .text() +
              "\n");
    } else if (in.dry_run()) {
        print(fmt::format("would purge {}{} messages\n",
                          done == counted_max || queue == Queue::inbox ? "at least " : "", done));
    } else {
        print(fmt::format("{} messages purged\n", done));
    }
    return ExitCode::ok;
}

}  // namespace

Command purge_command() {
    return {.name = "purge",
            .summary = "Remove delivered messages that are old enough.",
            .details =
                "In batches, each a transaction of its own; dead messages stay. Idempotency "
                "keys go when their time is over. A relay does this by itself.",
            .options = {queue_option(),
                        {.name = "older-than",
                         .value = "DURATION",
                         .what = "Such as 12h or 7d; the default is 7d, for the inbox 30d."}},
            .prints = true,
            .changes = true,
            .run = &run};
}

}  // namespace postroom::cli
