// The first minute with postroom: a shop on SQLite places orders, `postroom relay` delivers them
// over HTTP, and the receiver ships each order once, whatever happens in between.
//
// Everything lies in a temporary folder and is gone afterwards. Ends with exit status 0 when every
// order that was placed has been shipped once, or is dead with its reason.
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "receiver.hpp"
#include "relay_process.hpp"
#include "shop.hpp"

namespace demo {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto time_limit = 55s;

class Story {
public:
    Story(const std::string& folder, const std::string& program)
        : folder_(folder),
          shop_(folder + "/shop.db"),
          receiver_(folder + "/receiver.db"),
          relay_(program, folder) {}

    bool tell();

private:
    void write_config() const;
    void say(const char* text) const { std::printf("\n%s\n", text); }
    void show_counts() const;
    void watch(std::chrono::milliseconds duration) const;
    void watch_until(const std::function<bool()>& is_over) const;
    bool is_drained() const;
    bool summarize() const;

    const std::string folder_;
    const Clock::time_point begun_ = Clock::now();
    Shop shop_;
    Receiver receiver_;
    RelayProcess relay_;
};

void Story::write_config() const {
    std::ofstream(folder_ + "/postroom.toml")
        << "[stores.main]\nurl = \"sqlite:shop.db\"\n\n"
        << "[sinks.shipping]\ntype = \"http\"\nurl = \"http://127.0.0.1:" << receiver_.port()
        << "/orders\"\nallow_networks = \"127.0.0.1\"\n\n"
        << "[relay]\nlease = \"2s\"\nretry = \"fast\"\nmax_attempts = 4\n"
        << "poll_interval_max = \"200ms\"\n";
}

void Story::show_counts() const {
    const postroom::Counts counts = shop_.outbox_counts();
    const std::chrono::duration<double> passed = Clock::now() - begun_;
    std::printf("  %5.1f s   placed %4zu   shipped %4zu   waiting %4llu   dead %llu\n",
                passed.count(), shop_.placed(), receiver_.taken(),
                static_cast<unsigned long long>(counts.ready + counts.in_progress),
                static_cast<unsigned long long>(counts.dead));
    std::fflush(stdout);
}

void Story::watch_until(const std::function<bool()>& is_over) const {
    while (!is_over()) {
        if (Clock::now() - begun_ > time_limit) throw std::runtime_error("this takes too long");
        std::this_thread::sleep_for(500ms);
        show_counts();
    }
}

void Story::watch(std::chrono::milliseconds duration) const {
    const Clock::time_point end = Clock::now() + duration;
    watch_until([end] { return Clock::now() >= end; });
}

bool Story::is_drained() const {
    const postroom::Counts counts = shop_.outbox_counts();
    return counts.ready + counts.in_progress == 0;
}

bool Story::tell() {
    receiver_.go_up();
    write_config();
    relay_.start();

    say("1. The shop places orders, each in one transaction with its message; every tenth is\n"
        "   rolled back. `postroom relay` delivers them to a receiver over HTTP.");
    shop_.open();
    watch(2s);

    say("2. The receiver dies in the middle of its work: orders are shipped, and the answers are\n"
        "   lost. The shop does not notice; messages wait in its database, at no attempt's cost.");
    receiver_.lose_answers();
    std::this_thread::sleep_for(300ms);
    receiver_.go_down();
    watch(2500ms);

    say("3. It is back. What was shipped and not answered comes again, and its inbox knows it.");
    receiver_.go_up();
    watch(1s);
    watch_until([this] { return shop_.outbox_counts().ready < 10; });

    say("4. The relay is killed (SIGKILL) and started again. Leases of the dead one run out in 2 "
        "s.");
    relay_.kill();
    watch(500ms);
    relay_.start();
    watch(1s);
    shop_.close();
    watch_until([this] { return is_drained(); });

    say("5. A poison message: the receiver fails on it every time. It is tried 4 times, and dead.");
    shop_.place_poison();
    watch_until([this] { return shop_.outbox_counts().dead == 1; });
    std::printf("\n$ postroom list --state dead\n");
    const bool listed = relay_.run({"list", "--state", "dead"});
    const bool stopped = relay_.stop();
    return summarize() && listed && stopped;
}

bool Story::summarize() const {
    const std::set<int> orders = shop_.orders();
    const std::set<int> shipped = receiver_.shipped_orders();
    const std::size_t dead = shop_.outbox_counts().dead;
    const std::size_t lost = orders.size() - std::min(orders.size(), shipped.size() + dead);
    const bool all_known = std::ranges::includes(orders, shipped);
    const bool each_once = receiver_.shipments() == shipped.size();
    std::printf(
        "\nsummary\n"
        "  orders placed            %5zu\n"
        "  rolled back              %5zu   (nothing was sent)\n"
        "  delivered                %5zu   (each shipped once: %s)\n"
        "  duplicates suppressed    %5zu   (by the receiver's inbox)\n"
        "  dead, with a reason      %5zu\n"
        "  lost                     %5zu\n",
        orders.size(), shop_.rolled_back(), shipped.size(), each_once ? "yes" : "NO",
        receiver_.duplicates(), dead, lost);
    return orders.size() == shop_.placed() && lost == 0 && dead == 1 && all_known && each_once;
}

std::string beside_us(const char* name) {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

}  // namespace
}  // namespace demo

int main() {
    std::string folder = (std::filesystem::temp_directory_path() / "postroom-demo-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) {
        std::perror("mkdtemp");
        return 1;
    }
    bool good = false;
    try {
        good = demo::Story(folder, demo::beside_us("postroom")).tell();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "demo: %s\n", error.what());
    }
    if (good) {
        std::filesystem::remove_all(folder);
    } else {
        std::fprintf(stderr, "demo: something went wrong; see %s/relay.log\n", folder.c_str());
    }
    return good ? 0 : 1;
}
