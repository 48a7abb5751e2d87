// SelectionStrategy: which of many stores a dispatcher polls next.
//
// A store wants to be polled when a writer or its doorbell said so, when its last poll brought a
// full batch, or when its time has come. Where several want it, this decides. Pure: the answer
// depends on the arguments only, so it can be tried by hand.
//
// Thread safety: called by one thread at a time for each dispatcher.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace postroom {

struct PollCandidate {
    std::string_view store{};
    // False: not now, because it is being polled, or has no room for another batch.
    bool due = true;
};

struct LastPoll {
    std::string_view store{};
    // What it brought; nullopt: it is not over yet.
    std::optional<std::size_t> count{};
};

class SelectionStrategy {
public:
    SelectionStrategy() = default;
    SelectionStrategy(const SelectionStrategy&) = delete;
    SelectionStrategy& operator=(const SelectionStrategy&) = delete;
    virtual ~SelectionStrategy() = default;

    // The index of the candidate to poll; nullopt: none for the moment. `candidates` has all stores
    // that are due, and the last one whether due or not, in the order of the provider. A candidate
    // that is not due counts as none. `last` is nullptr before the first poll, and when its store
    // has gone; one that fails or does not answer has brought nothing.
    virtual std::optional<std::size_t> next(std::span<const PollCandidate> candidates,
                                            const LastPoll* last) const = 0;
};

// One batch from each store in turn.
class RoundRobin final : public SelectionStrategy {
public:
    std::optional<std::size_t> next(std::span<const PollCandidate> candidates,
                                    const LastPoll* last) const override;
};

// The same store until it brings nothing, then the next one. Others wait meanwhile, however long
// that takes; only a store that fails or hangs gives up its turn.
class DrainFirst final : public SelectionStrategy {
public:
    std::optional<std::size_t> next(std::span<const PollCandidate> candidates,
                                    const LastPoll* last) const override;
};

}  // namespace postroom
