// Peers: what one would use instead of the library, each in a Node process that runs
// bench/peers/peer.mjs and does what it is told.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "suite/bench.hpp"
#include "suite/engines/engine.hpp"
#include "suite/results.hpp"
#include "support/process.hpp"

namespace bench {

struct Peer {
    std::string name{};           // as the tables call it
    std::string file{};           // of bench/peers, without its suffix
    std::string configuration{};  // default or best
    Engine* engine = nullptr;     // where its messages are
};

class PeerProcess {
public:
    PeerProcess(const std::filesystem::path& folder, Peer peer, std::string url, int connections);
    // Asks it to end; it is killed if it does not.
    ~PeerProcess();
    PeerProcess(const PeerProcess&) = delete;
    PeerProcess& operator=(const PeerProcess&) = delete;

    // Throws std::runtime_error when no answer comes.
    std::string ask(const std::string& command);
    std::size_t count(const std::string& command) { return std::stoul(ask(command)); }
    // What this command costs: its answer is the number of messages.
    Sample measure(const std::string& command);
    Engine& engine() const { return *peer_.engine; }
    const std::string& url() const { return url_; }
    // Processor seconds so far, with those of processes that it has started.
    double cpu() const;

private:
    const Peer peer_;
    const std::string url_;
    postroom::test::ChildProcess child_;
};

class Peers {
public:
    // `folder` has the programs and their packages (tools/npm_packages.sh).
    Peers(std::filesystem::path folder, Engine& postgres);

    const std::vector<Peer>& all() const { return peers_; }
    // Without those whose configurations differ only in how they consume.
    std::vector<Peer> writers() const;
    std::unique_ptr<PeerProcess> start(const Peer& peer, const std::string& url,
                                       int connections = 10) const;
    // One for each of `peers`, with a process and a database that it keeps from sample to sample.
    std::vector<Variant> variants(const std::vector<Peer>& peers, int connections,
                                  const std::function<Sample(PeerProcess&)>& sample) const;
    // Versions, for the page.
    std::string about() const;

private:
    const std::filesystem::path folder_;
    std::unique_ptr<Engine> redis_;
    std::unique_ptr<Engine> flushing_redis_;
    std::vector<Peer> peers_;
};

}  // namespace bench
