#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "admin/audit.hpp"
#include "cli/commands/commands.hpp"
#include "cli/confirm.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"
#include "postroom/inbox.hpp"
#include "postroom/outbox.hpp"

namespace postroom::cli {

namespace {

constexpr std::uint32_t count_page = 500;
constexpr std::uint64_t counted_max = 100'000;
constexpr std::chrono::seconds counting_max{10};
constexpr std::uint32_t inbox_counted_max = 10'000;  // without content: small rows

// When a done message counts as left alone, for the purge.
std::optional<Instant> age_mark(Queue queue, const Message& message) {
    return queue == Queue::inbox ? message.last_seen : message.processed_at;
}

// How far the purge of an outbox has come, told by when the oldest that is left was delivered: the
// purge goes from the oldest to the newest. A count would have to read as much as the purge itself.
class Advance {
public:
    Advance(Store& store, Instant before) : store_(store), before_(before), begun_(oldest()) {}

    std::optional<double> part() {
        const Time now = Clock::now();
        if (begun_ && *begun_ < before_ && now >= next_look_) {
            const Instant at = oldest().value_or(before_);
            part_ = std::clamp(seconds(at - *begun_) / seconds(before_ - *begun_), 0.0, 1.0);
            // A look costs little of the time, however long the history is.
            const Time looked = Clock::now();
            next_look_ =
                looked + std::max<Clock::duration>(std::chrono::seconds{1}, 20 * (looked - now));
        }
        return part_;
    }

private:
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;

    static double seconds(Duration duration) {
        return std::chrono::duration<double>(duration).count();
    }

    // Numbers are given when a message is written, so a few of the lowest are looked at.
    std::optional<Instant> oldest() const {
        std::optional<Instant> first;
        for (const Message& message :
             store_.find(Queue::outbox, {.state = State::done, .limit = 20, .payloads = false}))
            if (message.processed_at && (!first || *message.processed_at < *first))
                first = message.processed_at;
        return first;
    }

    Store& store_;
    const Instant before_;
    const std::optional<Instant> begun_;
    Time next_look_{};
    std::optional<double> part_;
};

struct Counted {
    std::uint64_t total = 0;
    bool at_least = false;  // there may be more
};

// How many a purge would remove. Gives up after a while.
Counted count(Store& store, Queue queue, Duration older_than) {
    const Instant before = store.now() - older_than;
    const auto give_up = std::chrono::steady_clock::now() + counting_max;
    Query query{.state = State::done,
                .limit = queue == Queue::inbox ? inbox_counted_max : count_page,
                .payloads = false};
    Counted counted;
    while (true) {
        const std::vector<Message> found = store.find(queue, query);
        for (const Message& message : found) {
            const std::optional<Instant> at = age_mark(queue, message);
            if (at && *at < before) ++counted.total;
        }
        if (found.size() < query.limit) return counted;
        counted.at_least = true;
        // Done messages of the inbox have no numbers to page by.
        if (queue == Queue::inbox || counted.total >= counted_max ||
            std::chrono::steady_clock::now() >= give_up)
            return counted;
        query.after_seq = found.back().id.seq();
        counted.at_least = false;
    }
}

// "at least 1000 delivered messages"
std::string number_text(const Counted& number, std::string_view what) {
    return (number.at_least ? "at least " : "") + counted(number.total, what);
}

std::uint64_t purge_outbox(Store& store, Duration older_than) {
    Progress progress("purged");
    std::optional<Advance> advance;
    if (Progress::visible()) advance.emplace(store, store.now() - older_than);
    return Outbox(store).purge(older_than, 1000, [&](std::uint64_t done) {
        progress.at(done, advance ? advance->part() : std::nullopt);
    });
}

std::uint64_t purge_inbox(Store& store, Duration older_than) {
    std::optional<std::uint64_t> total;
    if (Progress::visible()) {
        const Counted counted = count(store, Queue::inbox, older_than);
        if (!counted.at_least) total = counted.total;
    }
    Progress progress("purged", total);
    return Inbox(store).purge(older_than, 1000,
                              [&progress](std::uint64_t done) { progress.at(done); });
}

ExitCode run_purge(const Invocation& in) {
    const Queue queue = queue_of(in);
    const std::optional<Duration> older_than =
        parse_duration(in.value("older-than", queue == Queue::inbox ? "30d" : "7d"));
    if (!older_than)
        throw Failure(ExitCode::usage,
                      "--older-than needs a number with a unit, such as 12h or 7d");
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    if (in.dry_run()) {
        const Counted found = count(*store, queue, *older_than);
        print(in.json() ? JsonObject()
                                  .add("would_purge", found.total)
                                  .add("at_least", found.at_least)
                                  .add("dry_run", true)
                                  .text() +
                              "\n"
                        : fmt::format("would purge {}\n", number_text(found, "message")));
        return ExitCode::ok;
    }
    confirm(in, [&]() -> std::string {
        const Counted found = count(*store, queue, *older_than);
        if (found.total == 0 && !found.at_least) return "";
        return fmt::format("purge {} of the {} of store '{}' for good?",
                           number_text(found, "delivered message"), to_string(queue), store->id());
    });
    admin::AuditTrail trail(*store, {.who = operator_name(),
                                     .what = "purge",
                                     .target = fmt::format("{} older than {}", to_string(queue),
                                                           format_duration(*older_than))});
    trail.begin();
    const std::uint64_t done = queue == Queue::inbox ? purge_inbox(*store, *older_than)
                                                     : purge_outbox(*store, *older_than);
    trail.changed(done);
    trail.end("done");
    print(in.json() ? JsonObject().add("purged", done).add("dry_run", false).text() + "\n"
                    : fmt::format("{} purged\n", counted(done, "message")));
    return ExitCode::ok;
}

}  // namespace

Command purge_command() {
    return {
        .name = "purge",
        .summary = "Remove delivered messages that are old enough.",
        .details =
            "In batches, each a transaction of its own; dead messages stay. Idempotency "
            "keys go when their time is over. A relay does this by itself. It says how many there "
            "are and asks first; where there is no terminal to ask on it needs --yes.",
        .options = {queue_option(),
                    {.name = "older-than",
                     .value = "DURATION",
                     .what = "Such as 12h or 7d; the default is 7d, for the inbox 30d."},
                    yes_option()},
        .prints = true,
        .changes = true,
        .run = &run_purge};
}

}  // namespace postroom::cli
