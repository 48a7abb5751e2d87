// DispatchWorker: a dispatcher at work until it is killed, for messages of every fate.
//
// Topics: `plain` is handled; `refused` is refused by its handler each time; `poison` takes the
// process down with it; `outage` finds its destination down as long as a certain file is there. The
// journal is that of a DispatchLedger.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "postroom/dispatcher.hpp"
#include "torture/journal.hpp"

namespace postroom::torture {

inline constexpr const char* plain_topic = "plain";
inline constexpr const char* refused_topic = "refused";
inline constexpr const char* poison_topic = "poison";
inline constexpr const char* outage_topic = "outage";

// Writes the leases that are lost to a journal.
class LossObserver final : public Observer {
public:
    // `journal` must outlive it.
    explicit LossObserver(Journal& journal) : journal_(journal) {}
    void observe(const Event& event) noexcept override;
    bool wants(EventKind kind) const noexcept override { return kind == EventKind::lost; }

private:
    Journal& journal_;
};

class DispatchWorker {
public:
    struct Options {
        std::filesystem::path journal{};
        std::filesystem::path outage{};  // the destination is down while this file is there
        Duration lease{};
    };

    static constexpr std::uint32_t attempts_max = 3;
    static constexpr std::uint32_t crash_limit = 3;

    DispatchWorker(std::unique_ptr<Store> store, const Options& options);

    // Dispatches for a while. False: nothing is left.
    bool step();

private:
    void handle(const Message& message);

    const Options options_;
    Journal journal_;
    LossObserver losses_{journal_};
    const std::unique_ptr<Store> store_;
    Dispatcher dispatcher_;
};

}  // namespace postroom::torture
