#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/output/full_screen.hpp"
#include "cli/output/status_view.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"
#include "cli/output/wrap.hpp"
#include "cli/session.hpp"
#include "postroom/error.hpp"

namespace postroom::cli {

namespace {

constexpr Duration every_min = std::chrono::milliseconds{500};

// What one look at all stores found.
struct Look {
    std::vector<admin::QueueStatus> queues{};
    std::string silent{};  // a line for each store that did not answer
};

struct Watched {
    std::string name;
    std::unique_ptr<Store> store;
};

Look look_at(const std::vector<Watched>& watched) {
    Look look;
    for (const Watched& each : watched) {
        try {
            for (const Queue queue : {Queue::outbox, Queue::inbox})
                look.queues.push_back(admin::queue_status(*each.store, queue));
        } catch (const Error& error) {
            look.silent += fmt::format("{} does not answer: {}\n", printable(each.name),
                                       printable(one_line(error.what())));
        }
    }
    // What fits on the screen should be what matters.
    std::ranges::stable_sort(
        look.queues, std::ranges::greater{},
        [](const admin::QueueStatus& queue) { return queue.counts.dead + queue.counts.ready; });
    return look;
}

// Of all workers of a queue.
double sum(const admin::QueueStatus& queue, double WorkerReport::*rate) {
    double all = 0;
    for (const WorkerReport& worker : queue.workers) all += worker.*rate;
    return all;
}

std::string queues_table(const Look& look, const Layout& layout) {
    Table table(
        {"STORE", "QUEUE", "OUT", "FAILED", "READY", "RETRYING", "IN_PROGRESS", "DEAD", "OLDEST"});
    for (const admin::QueueStatus& queue : look.queues) {
        const Counts& counts = queue.counts;
        table.add({queue.store, std::string(to_string(queue.queue)),
                   rate_text(sum(queue, &WorkerReport::delivered_per_second)),
                   rate_text(sum(queue, &WorkerReport::failed_per_second)),
                   count_text(counts, counts.ready), count_text(counts, counts.retrying),
                   count_text(counts, counts.in_progress), count_text(counts, counts.dead),
                   oldest_text(queue)});
    }
    return table.text(layout);
}

std::string workers_table(const Look& look, const Layout& layout) {
    Table table({"WORKER", "STORE", "QUEUE", "UP", "SEEN", "IN_HAND", "OUT", "FAILED"});
    for (const admin::QueueStatus& queue : look.queues) {
        for (const WorkerReport& worker : queue.workers)
            table.add(
                {fmt::format("{}:{}", worker.host, worker.pid), queue.store,
                 std::string(to_string(queue.queue)), format_duration(queue.now - worker.started),
                 format_duration(queue.now - worker.last_seen), fmt::format("{}", worker.in_hand),
                 rate_text(worker.delivered_per_second), rate_text(worker.failed_per_second)});
    }
    return table.empty() ? "Nobody is at work: 'postroom relay' delivers.\n" : table.text(layout);
}

// Each line in as many rows as it needs: why a destination is down must not be cut off.
std::string fitted(std::string_view lines, std::size_t width) {
    constexpr std::size_t indent = 2;
    std::string out;
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        out += wrapped(lines.substr(0, end), indent, width) + "\n";
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return out;
}

std::string page_of(const Look& look, Duration every, const Layout& layout) {
    std::string trouble = look.silent;
    for (const admin::QueueStatus& queue : look.queues)
        trouble += down_lines(queue) + paused_lines(queue);
    if (trouble.empty()) trouble = "No destination is down, no topic is paused.\n";
    const std::string head = fmt::format("{}, every {}; q ends it, any other key looks now",
                                         format_time(SystemClock().now()), format_duration(every));
    return shortened(head, *layout.width) + "\n\n" + queues_table(look, layout) + "\n" +
           fitted(trouble, *layout.width) + "\n" + workers_table(look, layout);
}

Duration every_of(const Invocation& in) {
    const std::optional<Duration> every = parse_duration(in.value("every", "2s"));
    if (!every || *every < every_min)
        throw Failure(ExitCode::usage, "--every needs a duration of 500ms or more, such as 5s");
    return *every;
}

ExitCode run_top(const Invocation& in) {
    const Duration every = every_of(in);
    const Interrupt interrupt;
    const Config config = load_config(in);
    std::vector<Watched> watched;
    for (const daemon::StorePlan& plan : chosen_stores(config, in))
        watched.push_back({plan.name, open_store_of(config, plan)});
    const FullScreen screen;
    do {
        // The terminal may have another size by now.
        const Layout layout{.width = terminal_width(STDOUT_FILENO).value_or(0),
                            .colors = takes_colors(STDOUT_FILENO)};
        screen.show(page_of(look_at(watched), every, layout));
    } while (screen.key_within(every, interrupt.token()) != Key::quit);
    return ExitCode::ok;
}

}  // namespace

Command top_command() {
    return {.name = "top",
            .summary = "Watch the queues, destinations and workers on a full screen.",
            .details =
                "For those on ssh; the dashboard shows more. Queues with the most dead and ready "
                "messages come first. OUT and FAILED are what the workers report, of the last "
                "seconds. A look costs each store what 'postroom status' costs it. q ends it.",
            .options = {{.name = "every",
                         .value = "DURATION",
                         .what = "How often to look, such as 5s; 2s."}},
            .reaches_relays = true,
            .run = &run_top};
}

}  // namespace postroom::cli
