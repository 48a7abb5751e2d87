#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/output/json.hpp"
#include "cli/output/message_view.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

constexpr std::uint32_t batch_max = 500;

struct Outcome {
    std::uint64_t matched = 0;
    std::uint64_t redriven = 0;
};

// Keeps the speed to so many a second, counted from the beginning.
class Pace {
public:
    explicit Pace(std::uint64_t per_second)
        : per_second_(per_second), begun_(std::chrono::steady_clock::now()) {}

    std::uint32_t batch() const {
        if (per_second_ == 0) return batch_max;
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(per_second_ / 4, 1, batch_max));
    }
    void wait_after(std::uint64_t done) const {
        if (per_second_ == 0) return;
        std::this_thread::sleep_until(begun_ +
                                      std::chrono::microseconds{done * 1'000'000 / per_second_});
    }

private:
    const std::uint64_t per_second_;
    const std::chrono::steady_clock::time_point begun_;
};

std::uint64_t rate_of(const Invocation& in) {
    const std::optional<std::int64_t> rate = parse_integer(in.value("rate", "0"));
    if (!rate || *rate < 0 || *rate > 1'000'000)
        throw Failure(ExitCode::usage, "--rate must be a whole number from 0 to 1000000");
    return static_cast<std::uint64_t>(*rate);
}

Outcome redrive_named(Store& store, const Invocation& in) {
    Outcome outcome;
    std::vector<WorkItemId> ids;
    // All are looked up before the first is touched: a mistyped one changes nothing.
    for (const std::string& id : in.arguments()) {
        const Message message = find_message(store, queue_of(in), id);
        if (message.state != State::dead) {
            throw Failure(ExitCode::failed, fmt::format("'{}' is {}, not dead; nothing was done",
                                                        printable(id), state_word(message.state)));
        }
        ids.push_back(message.id);
    }
    outcome.matched = ids.size();
    if (!in.dry_run()) outcome.redriven = store.redrive(queue_of(in), ids);
    return outcome;
}

Outcome redrive_matching(Store& store, const Invocation& in) {
    const Queue queue = queue_of(in);
    const Pace pace(rate_of(in));
    const std::string error = in.value("error");
    Query query{.state = State::dead, .limit = pace.batch()};
    if (in.has("topic")) query.topic = in.value("topic");
    Outcome outcome;
    Progress progress("redriven");
    while (true) {
        const std::vector<Message> found = store.find(queue, query);
        std::vector<WorkItemId> ids;
        for (const Message& message : found) {
            if (message.last_error.find(error) != std::string::npos) ids.push_back(message.id);
        }
        outcome.matched += ids.size();
        if (!in.dry_run() && !ids.empty()) {
            outcome.redriven += store.redrive(queue, ids);
            progress.at(outcome.redriven);
            pace.wait_after(outcome.redriven);
        }
        if (found.size() < query.limit) return outcome;
        query.after_seq = found.back().id.seq();
    }
}

ExitCode run(const Invocation& in) {
    const bool filtered = in.has("topic") || in.has("error") || in.has("all");
    if (filtered == !in.arguments().empty()) {
        throw Failure(ExitCode::usage,
                      "redrive takes ids, or a filter (--topic, --error), or --all; one of them");
    }
    rate_of(in);
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const Outcome outcome = filtered ? redrive_matching(*store, in) : redrive_named(*store, in);
    if (outcome.redriven > 0) store->announce(queue_of(in));
    if (in.json()) {
        print(JsonObject()
                  .add("matched", outcome.matched)
                  .add("redriven", outcome.redriven)
                  .add("dry_run", in.dry_run())
                  .text() +
              "\n");
    } else if (in.dry_run()) {
        print(fmt::format("would redrive {} messages\n", outcome.matched));
    } else {
        print(fmt::format("{} messages redriven\n", outcome.redriven));
    }
    return ExitCode::ok;
}

}  // namespace

Command redrive_command() {
    return {.name = "redrive",
            .summary = "Make dead messages ready again, as new.",
            .details =
                "In batches, each a transaction of its own. After an interruption the same "
                "command goes on where it was: what has been redriven is not dead any more.",
            .arguments = {{.name = "ID",
                           .what = "Ids of rows, or message ids.",
                           .required = false,
                           .repeats = true}},
            .options = {queue_option(),
                        {.name = "topic", .value = "TOPIC", .what = "All dead ones of this topic."},
                        {.name = "error",
                         .value = "TEXT",
                         .what = "All dead ones whose last error has this in it."},
                        {.name = "all", .what = "All dead ones."},
                        {.name = "rate",
                         .value = "N",
                         .what = "So many a second at most; 0, the default, is no limit."}},
            .examples = {"postroom redrive --topic order.placed --rate 100",
                         "postroom redrive --all --dry-run"},
            .prints = true,
            .changes = true,
            .run = &run};
}

}  // namespace postroom::cli
