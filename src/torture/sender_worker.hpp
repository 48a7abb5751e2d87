// SenderWorker: delivers messages to the inbox again and again, in any order, until it is killed.
//
// All senders draw from the same numbers, which grow with time, so each message arrives from
// several of them, and again after it was handled. The journal says which were offered, and which
// of those the inbox took:
//
//   offer ID...
//   took ID...
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "postroom/inbox.hpp"
#include "postroom/store.hpp"
#include "torture/journal.hpp"

namespace postroom::torture {

class SenderWorker {
public:
    struct Options {
        std::filesystem::path journal{};
        std::uint64_t seed = 0;
        std::uint64_t first = 0;  // how many messages there are when it begins
    };

    SenderWorker(std::unique_ptr<Store> store, const Options& options);

    bool step();
    void note_error(const std::string&) {}

private:
    std::mt19937_64 random_;
    std::uint64_t count_;
    Journal journal_;
    const std::unique_ptr<Store> store_;
    Inbox inbox_;
};

// What all senders' journals in a folder say.
struct Offers {
    std::set<std::string> offered{};
    std::set<std::string> taken{};
    std::uint64_t arrivals = 0;  // of those that were taken

    static Offers read(const std::filesystem::path& folder);
};

}  // namespace postroom::torture
