#include "cli/bulk.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

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
    std::uint64_t changed = 0;
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

std::string words_of(const std::vector<State>& states) {
    std::vector<std::string> words;
    for (const State state : states) words.push_back(state_word(state));
    return fmt::format("{}", fmt::join(words, " or "));
}

Outcome change_named(Store& store, const Invocation& in, const BulkChange& change) {
    Outcome outcome;
    std::vector<WorkItemId> ids;
    // All are looked up before the first is touched: a mistyped one changes nothing.
    for (const std::string& id : in.arguments()) {
        const Message message = find_message(store, queue_of(in), id);
        if (std::ranges::find(change.states, message.state) == change.states.end()) {
            throw Failure(ExitCode::failed,
                          fmt::format("'{}' is {}, not {}; nothing was done", printable(id),
                                      state_word(message.state), words_of(change.states)));
        }
        ids.push_back(message.id);
    }
    outcome.matched = ids.size();
    if (!in.dry_run()) outcome.changed = change.apply(store, queue_of(in), ids);
    return outcome;
}

// For the time left: known where all are meant.
std::optional<std::uint64_t> total_of(Store& store, const Invocation& in, State state) {
    if (in.has("topic") || in.has("error")) return std::nullopt;
    const Counts counts = store.counts(queue_of(in));
    return state == State::dead ? counts.dead : counts.ready;
}

Outcome change_matching(Store& store, const Invocation& in, const BulkChange& change, State state) {
    const Queue queue = queue_of(in);
    const Pace pace(rate_of(in));
    const std::string error = in.value("error");
    Query query{.state = state, .limit = pace.batch()};
    if (in.has("topic")) query.topic = in.value("topic");
    Outcome outcome;
    Progress progress(change.done, total_of(store, in, state));
    while (true) {
        const std::vector<Message> found = store.find(queue, query);
        std::vector<WorkItemId> ids;
        for (const Message& message : found) {
            if (message.last_error.find(error) != std::string::npos) ids.push_back(message.id);
        }
        outcome.matched += ids.size();
        if (!in.dry_run() && !ids.empty()) {
            outcome.changed += change.apply(store, queue, ids);
            progress.at(outcome.changed);
            pace.wait_after(outcome.changed);
        }
        if (found.size() < query.limit) return outcome;
        query.after_seq = found.back().id.seq();
    }
}

}  // namespace

Argument bulk_argument() {
    return {
        .name = "ID", .what = "Ids of rows, or message ids.", .required = false, .repeats = true};
}

std::vector<Option> bulk_options() {
    return {queue_option(),
            {.name = "topic", .value = "TOPIC", .what = "All of this topic."},
            {.name = "error", .value = "TEXT", .what = "All whose last error has this in it."},
            {.name = "all", .what = "All of them."},
            {.name = "rate",
             .value = "N",
             .what = "So many a second at most; 0, the default, is no limit."}};
}

ExitCode run_bulk(const Invocation& in, const BulkChange& change, State state) {
    const bool filtered = in.has("topic") || in.has("error") || in.has("all");
    if (filtered == !in.arguments().empty()) {
        throw Failure(ExitCode::usage,
                      fmt::format("{} takes ids, or a filter (--topic, --error), or --all; one of "
                                  "them",
                                  change.verb));
    }
    // An empty one, from a variable that was not set perhaps, would mean everything.
    for (const std::string filter : {"topic", "error"}) {
        if (in.has(filter) && in.value(filter).empty())
            throw Failure(ExitCode::usage,
                          fmt::format("--{} must not be empty; --all means all", filter));
    }
    rate_of(in);
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const Outcome outcome =
        filtered ? change_matching(*store, in, change, state) : change_named(*store, in, change);
    if (outcome.changed > 0) store->announce(queue_of(in));
    if (in.json()) {
        print(JsonObject()
                  .add("matched", outcome.matched)
                  .add(change.done, outcome.changed)
                  .add("dry_run", in.dry_run())
                  .text() +
              "\n");
    } else if (in.dry_run()) {
        print(fmt::format("would {} {} messages\n", change.verb, outcome.matched));
    } else {
        print(fmt::format("{} messages {}\n", outcome.changed, change.done));
    }
    return ExitCode::ok;
}

}  // namespace postroom::cli
