// The law of every sink: its peer is killed and started again under load, and nothing is lost.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "postroom/sink.hpp"

namespace postroom::test {

// What the peer received, in order. `key` is empty for messages without one; `payload` is as sent.
struct Received {
    std::string message_id{};
    std::string key{};
    std::string payload{};
};

struct OutagePeer {
    std::function<void()> kill{};
    std::function<void()> restart{};
    std::function<std::size_t()> received_count{};
    std::function<std::vector<Received>()> received{};
};

// Sends 20,000 messages (a tenth of them unless at full scale), a fifth of which have ordering
// keys, from a SQLite store through a dispatcher into `sink`, kills the peer in the middle and
// restarts it when the circuit has opened. Expects that all arrive, that no attempt is spent, that
// messages of a key arrive in order, and that no more arrive twice than were under way. Prints its
// figures.
void expect_outage_is_survived(std::unique_ptr<Sink> sink, const OutagePeer& peer);

}  // namespace postroom::test
