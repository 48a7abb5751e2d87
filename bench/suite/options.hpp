// How long and how much the bench measures.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace bench {

struct Options {
    std::string mode = "quick";
    std::size_t repetitions = 3;
    double seconds = 0.2;         // of one sample of a load
    std::size_t backlog = 6'000;  // messages of one sample of a drain
    double snapshot_seconds = 4;  // how long the old snapshot is held
    std::size_t growth_repetitions = 1;
    std::size_t growth_max = 20'000;  // the longest backlog of the growth question
    std::size_t stores_max = 100;
    std::size_t relay_pending = 20'000;
    unsigned flush_us = 0;  // how much longer every flush to the disk takes in the servers
    std::set<std::string> questions{};  // empty: all
    std::set<std::string> engines{};    // empty: all
    std::filesystem::path output = "build/bench";
    std::filesystem::path peers{};  // where the peers are; empty: they are not measured

    bool with_peers() const { return !peers.empty(); }
    bool quick() const { return mode == "quick"; }
    bool wants_question(const std::string& id) const {
        return questions.empty() || questions.contains(id);
    }
    bool wants_engine(const std::string& name) const {
        return engines.empty() || engines.contains(name);
    }
};

inline constexpr const char* usage =
    "usage: bench [--full] [--question=ID,...] [--engine=NAME,...] [--repetitions=N]\n"
    "             [--seconds=S] [--backlog=N] [--snapshot-seconds=S] [--flush-us=N]\n"
    "             [--output=FOLDER] [--peers=FOLDER]\n"
    "       bench --render=RESULTS.JSON [--page=PAGE.MD] [--output=FOLDER]\n"
    "       bench --list\n";

}  // namespace bench
