#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "suite/answering_server.hpp"
#include "suite/ours.hpp"
#include "suite/questions/questions.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace bench {
namespace {

using namespace postroom;

double peak_rss_mib(long pid) {
    std::ifstream file(fmt::format("/proc/{}/status", pid));
    for (std::string word; file >> word;) {
        double kib = 0;
        if (word == "VmHWM:" && file >> kib) return kib / 1024;
    }
    return 0;
}

std::string config(const std::string& url, const std::string& sink) {
    return fmt::format(
        "[stores.main]\nurl = \"{}\"\nkeep_history = false\n\n[sinks.out]\n{}\n"
        "[relay]\nbatch = 200\n\n[log]\nlevel = \"warning\"\nper_message = false\n",
        url, sink);
}

// Waits for the next messages to arrive; returns how many have in all.
using Arrived = std::function<std::size_t(test::ChildProcess&)>;

// The program from its start until all have arrived.
Sample drain(Engine& engine, const Ours& ours, const std::string& sink, std::size_t pending,
             const Arrived& arrived) {
    ours.fill(pending);
    engine.settle(ours.url);
    const test::TempDir directory;
    const std::filesystem::path file = directory / "postroom.toml";
    std::ofstream(file) << config(ours.url, sink);
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    Meter meter(engine);
    test::ChildProcess relay(
        {.program = folder / "postroom", .arguments = {"relay", "--config", file.string()}});
    const Stopwatch watch;
    while (arrived(relay) < pending) {
        if (!relay.running()) throw std::runtime_error("the relay has ended");
        if (watch.seconds() > 600) throw std::runtime_error("the relay does not drain");
    }
    Sample sample = meter.finish(static_cast<double>(pending));
    sample[metric::client_cpu] =
        process_cpu(relay.pid(), false) * 1e6 / static_cast<double>(pending);
    sample[metric::cpu] = sample[metric::client_cpu] + sample[metric::server_cpu];
    sample[metric::rss_mib] = peak_rss_mib(relay.pid());
    relay.kill(SIGTERM);
    relay.wait(std::chrono::seconds(30));
    return sample;
}

Sample drain_to_stdout(Engine& engine, const Ours& ours, std::size_t pending) {
    return drain(engine, ours, "type = \"stdout\"\n", pending,
                 [lines = std::size_t{0}](test::ChildProcess& relay) mutable {
                     if (relay.read_line(std::chrono::seconds(1))) ++lines;
                     return lines;
                 });
}

Sample drain_to_http(Engine& engine, const Ours& ours, std::size_t pending) {
    const AnsweringServer http;
    return drain(engine, ours,
                 fmt::format("type = \"http\"\nurl = \"http://127.0.0.1:{}/\"\n"
                             "allow_networks = [\"127.0.0.1\"]\n",
                             http.port()),
                 pending, [&](test::ChildProcess&) {
                     std::this_thread::sleep_for(std::chrono::milliseconds(2));
                     return http.answered();
                 });
}

}  // namespace

void ask_relay(Bench& bench) {
    const std::size_t pending = bench.options().relay_pending;
    const std::size_t posts = bench.options().backlog / 2;
    for (const auto& engine : bench.engines()) {
        const Ours ours(engine->fresh_database());
        bench.run({"relay",
                   engine->name(),
                   fmt::format("{} pending", pending),
                   "",
                   {{"stdout sink", Role::ours,
                     [&] { return drain_to_stdout(*engine, ours, pending); }}}},
                  1);
        bench.run(
            {"relay",
             engine->name(),
             fmt::format("{} posts", posts),
             "",
             {{"http sink", Role::ours, [&] { return drain_to_http(*engine, ours, posts); }}}},
            1);
    }
}

}  // namespace bench
