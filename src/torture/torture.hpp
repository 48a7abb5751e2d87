// Torture: a store under everything that goes wrong in production, judged by a ledger outside of
// the database.
//
// In three acts, each with its share of the time, processes work on the store and are killed at any
// moment:
//
// - queue: writers and workers of the outbox. Transactions are rolled back and committed late,
// leases
//   run out, outcomes come too late, messages are given back and fail.
// - redelivery: senders deliver the same messages to the inbox again and again, to receivers whose
//   effect and done mark commit together.
// - dispatch: dispatchers among poison messages, refusals and an outage of a destination.
//
// What each process was about to do, and what it was told became of it, stands in journals that a
// kill cannot take back. In the end they are held against what the database has: nothing that was
// confirmed is lost, nothing that was rolled back is there, no message was held by two, none is
// stuck, each takes effect once, and what is dead is dead for its own reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "postroom/store.hpp"

namespace postroom::torture {

struct Plan {
    // Called in every process. The store's queues are empty and nobody else's.
    std::function<std::unique_ptr<Store>()> open{};
    std::string orders_table{};      // as SQL writes it, with a column id
    std::string effects_table{};     // likewise, with source and message_id
    std::filesystem::path folder{};  // of the journals; empty
    std::uint64_t seed = 0;
    Duration duration{};  // of the killing; recovery and judgement come on top
    Duration lease{};
    // Called often; what it throws ends the torture.
    std::function<void()> check{};
};

struct Figure {
    std::string name{};  // words joined by '_'
    std::uint64_t value = 0;
};

struct Act {
    std::string name{};
    std::string what{};
    std::vector<Figure> figures{};
    std::vector<std::string> broken{};  // one line for each promise
};

// Throws what opening a store throws, and WorkerEnded.
std::vector<Act> torture(const Plan& plan);

}  // namespace postroom::torture
