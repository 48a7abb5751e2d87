#include "cli/demo/story.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "base/connect_fault.hpp"
#include "cli/demo/receiver.hpp"
#include "cli/demo/relay_process.hpp"
#include "cli/demo/shop.hpp"
#include "cli/output/wrap.hpp"

namespace postroom::cli::demo {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto time_limit = 55s;
constexpr int open_pace = 6;  // so much slower is a story that is watched on the dashboard

class Story {
public:
    Story(const Stage& stage, const Interrupt& interrupt)
        : stage_(stage),
          interrupt_(interrupt),
          shop_(stage.folder + "/shop.db"),
          receiver_(stage.folder + "/receiver.db"),
          relay_(stage.program, stage.folder) {}

    Summary tell();

private:
    void write_config() const;
    void say_where() const;
    void stay_open();
    std::string address() const { return fmt::format("http://127.0.0.1:{}", page_port_.number()); }
    void say(std::string_view text) const { stage_.tell(fmt::format("\n{}\n", text)); }
    void begin_act(int number, std::string_view text) const {
        say(fmt::format("{}. {}", number, wrapped(text, 3, 79)));
    }
    void show_counts() const;
    void watch(std::chrono::milliseconds duration) const;
    void watch_until(const std::function<bool()>& is_over) const;
    bool is_drained() const;
    void deliver_through_trouble();
    bool show_poison();
    Summary summarize() const;

    const Stage& stage_;
    const Interrupt& interrupt_;
    const int pace_ = stage_.open ? open_pace : 1;
    const Clock::time_point begun_ = Clock::now();
    const Port page_port_;  // of the dashboard, the same after the relay's restart
    Shop shop_;
    Receiver receiver_;
    RelayProcess relay_;
};

void Story::write_config() const {
    std::ofstream(stage_.folder + "/postroom.toml")
        << "[stores.main]\nurl = \"sqlite:shop.db\"\n\n"
        << "[sinks.shipping]\ntype = \"http\"\nurl = \"http://127.0.0.1:" << receiver_.port()
        << "/orders\"\nallow_networks = \"127.0.0.1\"\n\n"
        << "[relay]\nlease = \"2s\"\nretry = \"fast\"\nmax_attempts = 4\n"
        << "poll_interval_max = \"200ms\"\n\n"
        << "[admin]\nlisten = \"127.0.0.1:" << page_port_.number() << "\"\nanonymous = \"admin\"\n";
}

// Whoever is told of the page opens it at once.
void Story::say_where() const {
    const Clock::time_point end = Clock::now() + time_limit;
    while (!base::connect_fault("127.0.0.1", page_port_.number()).empty()) {
        interrupt_.check();
        if (Clock::now() > end) throw std::runtime_error("the relay does not start");
        std::this_thread::sleep_for(50ms);
    }
    say(fmt::format("Watch it on the dashboard: {}\nThe story begins in ten seconds.", address()));
    watch(10000ms / pace_);
}

// The shop goes on, and the poison message is one that can be redriven.
void Story::stay_open() {
    receiver_.repair();
    shop_.open();
    say(
        fmt::format("Everything goes on, and the receiver has been repaired. See why the message "
                    "died, and redrive\n"
                    "it: {}/#/dead\nCtrl-C ends the demo.",
                    address()));
    while (!interrupt_.token().stop_requested()) std::this_thread::sleep_for(100ms);
    shop_.close();
}

void Story::show_counts() const {
    const Counts counts = shop_.outbox_counts();
    const std::chrono::duration<double> passed = Clock::now() - begun_;
    stage_.tell(fmt::format("  {:5.1f} s   placed {:4}   shipped {:4}   waiting {:4}   dead {}\n",
                            passed.count(), shop_.placed(), receiver_.taken(),
                            counts.ready + counts.in_progress, counts.dead));
}

void Story::watch_until(const std::function<bool()>& is_over) const {
    while (!is_over()) {
        interrupt_.check();
        if (Clock::now() - begun_ > time_limit * pace_)
            throw std::runtime_error("this takes too long");
        std::this_thread::sleep_for(500ms);
        show_counts();
    }
}

void Story::watch(std::chrono::milliseconds duration) const {
    const Clock::time_point end = Clock::now() + duration * pace_;
    watch_until([end] { return Clock::now() >= end; });
}

bool Story::is_drained() const {
    const Counts counts = shop_.outbox_counts();
    return counts.ready + counts.in_progress == 0;
}

void Story::deliver_through_trouble() {
    begin_act(1,
              "The shop places orders, each in one transaction with its message; every tenth is "
              "rolled back. `postroom relay` delivers them to a receiver over HTTP.");
    shop_.open();
    watch(2s);

    begin_act(
        2,
        "The receiver dies in the middle of its work: orders are shipped, and the answers are "
        "lost. The shop does not notice; messages wait in its database, and no attempt is "
        "spent.");
    receiver_.lose_answers();
    std::this_thread::sleep_for(300ms);
    receiver_.go_down();
    watch(2500ms);

    begin_act(3,
              "It is back. What was shipped and not answered comes again, and its inbox knows it.");
    receiver_.go_up();
    watch(1s);
    watch_until([this] { return shop_.outbox_counts().ready < 10; });

    begin_act(4,
              "The relay is killed (SIGKILL) and started again. The leases of the dead one run out "
              "after 2 s.");
    relay_.kill();
    watch(500ms);
    relay_.start();
    watch(1s);
    shop_.close();
    watch_until([this] { return is_drained(); });
}

bool Story::show_poison() {
    begin_act(5,
              "A poison message: the receiver fails on it every time. It is tried 4 times, then it "
              "is dead.");
    shop_.place_poison();
    watch_until([this] { return shop_.outbox_counts().dead == 1; });
    say("$ postroom list --state dead");
    return relay_.run({"list", "--state", "dead"}, stage_.output);
}

Summary Story::tell() {
    receiver_.go_up();
    write_config();
    relay_.start();
    if (stage_.open) say_where();
    deliver_through_trouble();
    const bool listed = show_poison();
    Summary summary = summarize();
    stage_.show(summary);
    if (stage_.open) stay_open();
    summary.good = relay_.stop() && summary.good && listed;
    return summary;
}

Summary Story::summarize() const {
    const std::set<int> orders = shop_.orders();
    const std::set<int> shipped = receiver_.shipped_orders();
    Summary summary{.placed = orders.size(),
                    .rolled_back = shop_.rolled_back(),
                    .delivered = shipped.size(),
                    .duplicates = receiver_.duplicates(),
                    .dead = shop_.outbox_counts().dead,
                    .each_once = receiver_.shipments() == shipped.size()};
    summary.lost = orders.size() - std::min(orders.size(), shipped.size() + summary.dead);
    summary.good = orders.size() == shop_.placed() && summary.lost == 0 && summary.dead == 1 &&
                   std::ranges::includes(orders, shipped) && summary.each_once;
    return summary;
}

}  // namespace

Summary tell_story(const Stage& stage, const Interrupt& interrupt) {
    return Story(stage, interrupt).tell();
}

}  // namespace postroom::cli::demo
