// Handlings: when which process ran a handler for which message, as dispatch children noted it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace postroom::test {

struct Handling {
    std::string process;
    std::int64_t begin = 0;  // nanoseconds of the monotonic clock, which all processes share
    std::int64_t end = 0;    // the largest number: it has not ended, or not by returning
};

struct Handlings {
    std::map<std::string, std::vector<Handling>> of_message;  // by message id
    std::map<std::string, std::string> late;                  // results of late outcomes, likewise

    // Everything that stands in the journal by now; nothing when there is none.
    static Handlings read(const std::filesystem::path& journal);

    // One line for each pair of handlings of one message that overlap.
    std::vector<std::string> overlaps() const;
    std::uint64_t repeated() const;
    // By process: how many it handled.
    std::map<std::string, std::uint64_t> shares() const;
    std::int64_t longest_nanoseconds() const;
};

}  // namespace postroom::test
