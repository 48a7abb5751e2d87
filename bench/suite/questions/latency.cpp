#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "suite/floors/postgres_listener.hpp"
#include "suite/ours.hpp"
#include "suite/peers.hpp"
#include "suite/questions/questions.hpp"
#include "support/process.hpp"

namespace bench {
namespace {

using namespace postroom;
using std::chrono::steady_clock;

// Nanoseconds of a clock that all processes of the machine share.
std::int64_t stamp() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               steady_clock::now().time_since_epoch())
        .count();
}

// The payload begins with the message's number.
NewMessage numbered(std::size_t number) {
    std::string payload = std::to_string(number) + " ";
    payload.resize(200, '.');
    return {.topic = "order.placed", .payload = payload, .content_type = "text/plain"};
}

std::size_t number_of(const Message& message) {
    std::size_t number = 0;
    std::from_chars(message.payload.data(), message.payload.data() + message.payload.size(),
                    number);
    return number;
}

Sample percentiles(const std::vector<std::int64_t>& committed,
                   const std::vector<std::int64_t>& handled) {
    std::vector<double> micros;
    for (std::size_t i = 0; i < committed.size(); ++i) {
        if (handled[i] != 0)
            micros.push_back(static_cast<double>(handled[i] - committed[i]) / 1000);
    }
    if (micros.size() != committed.size()) throw std::runtime_error("a message was not handled");
    return {{metric::p50_us, percentile(micros, 0.5)}, {metric::p99_us, percentile(micros, 0.99)}};
}

// Sends `count` messages, one each `pace`; `send` gets the number.
void send_steadily(std::size_t count, Duration pace, const std::function<void(std::size_t)>& send) {
    const auto start = steady_clock::now();
    for (std::size_t i = 0; i < count; ++i) {
        std::this_thread::sleep_until(start + pace * i);
        send(i);
    }
}

Sample own_process(const Ours& ours, std::size_t count, Duration pace) {
    std::vector<std::int64_t> committed(count);
    std::vector<std::int64_t> handled(count);
    std::atomic<std::size_t> seen = 0;
    Dispatcher dispatcher(*ours.store);
    dispatcher.on("order.placed", [&](const Message& message) {
        handled.at(number_of(message)) = stamp();
        ++seen;
    });
    dispatcher.start();
    send_steadily(count, pace, [&](std::size_t number) {
        const auto tx = ours.store->begin();
        // Before the message: the first to hear that the server has confirmed.
        tx->after_commit([&committed, number] { committed[number] = stamp(); });
        ours.outbox.enqueue(*tx, numbered(number));
        tx->commit();
    });
    const Stopwatch watch;
    while (seen < count && watch.seconds() < 30)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    dispatcher.close();
    return percentiles(committed, handled);
}

// `argument` makes this program the other one; `send` returns when the message is committed.
Sample other_process(Engine& engine, const std::string& argument, std::size_t count,
                     const std::function<void(std::size_t number)>& send) {
    test::ChildProcess child(
        {.program = std::filesystem::read_symlink("/proc/self/exe"), .arguments = {argument}});
    if (child.read_line(std::chrono::seconds(30)) != "ready")
        throw std::runtime_error("the other process does not start");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));

    // What an idle consumer costs, here and in the server: the median second of five, because the
    // server may still be tidying up what was asked before.
    std::vector<double> idle_percents;
    for (int second = 0; second < 5; ++second) {
        const Stopwatch idle;
        const double before = engine.server_cpu() + process_cpu(child.pid(), false);
        std::this_thread::sleep_for(std::chrono::seconds(1));
        const double spent = engine.server_cpu() + process_cpu(child.pid(), false) - before;
        idle_percents.push_back(100 * spent / idle.seconds());
    }
    const double idle_percent = median(idle_percents);

    std::vector<std::int64_t> committed(count);
    send_steadily(count, std::chrono::milliseconds{10}, [&](std::size_t number) {
        send(number);
        committed[number] = stamp();
    });
    std::vector<std::int64_t> handled(count);
    std::size_t seen = 0;
    while (seen < count) {
        const auto line = child.read_line(std::chrono::seconds(30));
        if (!line) throw std::runtime_error("the other process handled too few messages");
        const std::size_t blank = line->find(' ');
        std::int64_t& when = handled.at(std::stoul(line->substr(0, blank)));
        if (when == 0) ++seen;
        when = std::stoll(line->substr(blank + 1));
    }
    child.close_input();
    child.wait(std::chrono::seconds(30));
    Sample sample = percentiles(committed, handled);
    sample[metric::idle_percent] = idle_percent;
    return sample;
}

Sample listening_process(Engine& engine, std::size_t count) {
    const std::string url = engine.fresh_database();
    const auto tables = engine.floor(url);
    NotifyingWriter writer(url);
    return other_process(engine, "--listen=" + url, count,
                         [&](std::size_t number) { writer.send(number); });
}

std::vector<Variant> other_process_variants(Engine& engine, const Ours& ours, std::size_t count) {
    std::vector<Variant> variants{
        {"dispatcher", Role::ours, [&, count] {
             return other_process(engine, "--consume=" + ours.url, count, [&](std::size_t number) {
                 ours.outbox.enqueue(numbered(number));
             });
         }}};
    if (engine.name() == "postgresql") {
        variants.push_back(
            {"LISTEN loop", Role::floor, [&, count] { return listening_process(engine, count); }});
    }
    return variants;
}

std::vector<std::int64_t> stamps(const std::string& line) {
    std::vector<std::int64_t> out;
    std::istringstream words(line);
    for (std::int64_t word = 0; words >> word;) out.push_back(word);
    return out;
}

// From when its enqueue has returned to when the handler was called, for those that were handled
// soon enough. A handler that was faster than the return counts as 0.
Sample latency_of_peer(const Peers& peers, const Peer& peer, bool own, std::size_t count) {
    constexpr double limit_seconds = 10;
    const std::string url = peer.engine->fresh_database();
    const auto consumer = peers.start(peer, url);
    const auto another = own ? nullptr : peers.start(peer, url);
    PeerProcess& writer = own ? *consumer : *another;
    consumer->ask("listen");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    writer.ask(fmt::format("send {} 10", count));
    const Stopwatch watch;
    while (consumer->count("handled") < count && watch.seconds() < limit_seconds)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::vector<std::int64_t> committed = stamps(writer.ask("committed"));
    const std::vector<std::int64_t> handled = stamps(consumer->ask("received"));
    std::vector<double> micros;
    for (std::size_t i = 0; i < std::min(committed.size(), handled.size()); ++i) {
        if (handled[i] != 0)
            micros.push_back(std::max(0.0, static_cast<double>(handled[i] - committed[i]) / 1000));
    }
    Sample sample{{metric::delivered_percent,
                   100 * static_cast<double>(micros.size()) / static_cast<double>(count)}};
    if (!micros.empty()) {
        sample[metric::p50_us] = percentile(micros, 0.5);
        sample[metric::p99_us] = percentile(micros, 0.99);
    }
    return sample;
}

// Everybody at 100 messages a second; the peers with a fresh database for each sample.
void ask_latency_of_peers(Bench& bench) {
    Engine& engine = *bench.engine("postgresql");
    const Peers& peers = *bench.peers();
    const std::size_t count = bench.options().quick() ? 100 : 600;
    const Ours ours(engine.fresh_database());
    for (const bool own : {true, false}) {
        Comparison comparison{
            "latency",
            engine.name(),
            own ? "own process, 100 messages a second" : "other process, 100 messages a second",
            "",
            {}};
        if (own) {
            comparison.variants.push_back(
                {"hot path", Role::ours,
                 [&] { return own_process(ours, count, std::chrono::milliseconds{10}); }});
        } else {
            comparison.variants = other_process_variants(engine, ours, count);
        }
        for (const Peer& peer : peers.all()) {
            comparison.variants.push_back({peer.name, Role::peer, [&, own] {
                                               return latency_of_peer(peers, peer, own, count);
                                           }});
        }
        bench.run(comparison, bench.options().quick() ? 1 : 0);
    }
}

void say_ready() {
    fmt::print("ready\n");
    std::fflush(stdout);
}

void say_handled(std::size_t number, std::int64_t when) {
    fmt::print("{} {}\n", number, when);
    std::fflush(stdout);
}

}  // namespace

int listen(const std::string& url) {
    listen_by_hand(url, say_ready, [](std::size_t number) { say_handled(number, stamp()); });
    return 0;
}

int consume(const std::string& url) {
    const auto store = open_store(url, {.keep_history = false});
    std::mutex mutex;
    Dispatcher dispatcher(*store);
    dispatcher.on("order.placed", [&](const Message& message) {
        const std::int64_t when = stamp();
        const std::lock_guard lock(mutex);
        say_handled(number_of(message), when);
    });
    dispatcher.start();
    say_ready();
    for (std::string line; std::getline(std::cin, line);) {
    }
    dispatcher.close();
    return 0;
}

void ask_latency(Bench& bench) {
    if (bench.peers() != nullptr) return ask_latency_of_peers(bench);
    const std::size_t own = bench.options().quick() ? 300 : 2000;
    const std::size_t other = bench.options().quick() ? 100 : 600;
    for (const auto& engine : bench.engines()) {
        const Ours ours(engine->fresh_database());
        bench.run({"latency",
                   engine->name(),
                   "own process, 500 messages a second",
                   "",
                   {{"hot path", Role::ours,
                     [&] { return own_process(ours, own, std::chrono::milliseconds{2}); }}}});
        Comparison comparison{"latency", engine->name(), "other process, 100 messages a second",
                              engine->name() == "postgresql" ? "LISTEN loop" : "",
                              other_process_variants(*engine, ours, other)};
        bench.run(comparison, bench.options().quick() ? 1 : 0);
    }
}

}  // namespace bench
