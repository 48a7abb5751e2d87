// FailoverRun: writers and relays at work on a cluster that loses its leader again and again.
//
// All of them have one URL with all nodes in it and are told nothing: writers that remember what
// was confirmed, one of which delivers its own messages in memory, and two relays. What arrives is
// in one ledger.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "chaos/delivery_ledger.hpp"
#include "chaos/history.hpp"
#include "chaos/postgres/patroni_cluster.hpp"
#include "postroom/outbox.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"
#include "torture/journal.hpp"

namespace postroom::test {

class FailoverRun {
public:
    explicit FailoverRun(PatroniCluster::Mode mode);

    // Waits until the cluster is whole and messages arrive; then whoever leads is killed, or told
    // to hand over, and this returns when another one leads and messages arrive that were written
    // there. A node that was killed is started again.
    void kill_leader();
    void switch_over();

    // Ends the writers, lets the relays deliver the rest, ends them too, and judges. Fails the
    // test for each promise that was broken, and prints the figures.
    void finish();

    // From the moment another one leads until a message arrives that was written after it.
    const std::vector<double>& delivery_seconds() const { return delivery_seconds_; }
    std::uint64_t forgotten() const { return forgotten_; }  // confirmed, and lost by the database
    std::uint64_t numbers_reused() const { return numbers_reused_; }  // among them

private:
    using SteadyClock = std::chrono::steady_clock;

    void start_writers();
    void start_relays();
    void await_load();
    void await_new_leader(int old);
    void await_delivery();
    // Writes a message, however often it takes, and returns its id.
    std::string write_probe();
    void end_writers();
    void await_empty();
    void end_relays();
    void judge();
    void count_reused_numbers();
    void print_figures(const History& history, const DeliveryLedger::Order& order);

    const PatroniCluster::Mode mode_;
    TempDir folder_;
    TempDir journals_;
    PatroniCluster cluster_;
    ClusterDatabase database_;
    DeliveryLedger ledger_;
    torture::Journal probes_;
    std::vector<std::string> probe_ids_;
    std::unique_ptr<Store> store_;
    std::deque<ChildProcess> writers_;
    std::deque<ChildProcess> relays_;
    std::uint64_t kills_ = 0;
    std::uint64_t switchovers_ = 0;
    std::vector<double> leader_seconds_;    // from the kill or the order until another one leads
    std::vector<double> delivery_seconds_;  // and from then until a new message arrives
    std::vector<double> keyed_seconds_;     // one with an ordering key
    std::uint64_t forgotten_ = 0;
    std::uint64_t numbers_reused_ = 0;
};

}  // namespace postroom::test
