// EpochMemory: which epochs the incarnations of a store have reached, in files outside the
// database, one for each incarnation.
//
// An epoch counts once it has stood for a while; until then it is a candidate, which is kept in the
// file too, so that workers who live for a minute come to remember something as well. A memory
// without a folder remembers nothing. What cannot be written is forgotten: the guard is a second
// look, and no reason to stop delivering.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "postroom/clock.hpp"

namespace postroom::sql {

class EpochMemory {
public:
    EpochMemory(std::string folder, Duration settled_after)
        : folder_(std::move(folder)), settled_after_(settled_after) {}

    // The highest epoch that counts.
    std::optional<std::uint64_t> of(const std::string& incarnation);

    // The incarnation has this epoch now.
    void note(const std::string& incarnation, std::uint64_t epoch, Instant now);

private:
    struct Entry {
        std::uint64_t settled = 0;
        std::uint64_t candidate = 0;
        std::int64_t since_s = 0;  // the candidate's; seconds since 1970

        bool operator==(const Entry&) const = default;
    };

    std::filesystem::path file_of(const std::string& incarnation) const;
    Entry load(const std::string& incarnation) const;
    void save(const std::string& incarnation, const Entry& entry) const;
    // Of the incarnation that was asked for last.
    Entry& entry(const std::string& incarnation);

    const std::string folder_;
    const Duration settled_after_;
    std::string known_;
    Entry entry_;
};

}  // namespace postroom::sql
