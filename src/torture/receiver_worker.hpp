// ReceiverWorker: handles inbox messages so that effect and done mark commit together, and may be
// killed anywhere.
//
// The effect of a message is a row (source, message_id) in a table without a key: a second effect
// would be seen there.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>

#include "postroom/inbox.hpp"
#include "postroom/store.hpp"

namespace postroom::torture {

class ReceiverWorker {
public:
    struct Options {
        std::uint64_t seed = 0;
        Duration lease{};
        std::string effects_table{};  // as SQL writes it
        bool drains = false;          // ends when nothing is left
    };

    ReceiverWorker(std::unique_ptr<Store> store, const Options& options);

    // False: it is drained.
    bool step();

private:
    bool chance(int percent);
    bool drained();
    void write_effect(Transaction& tx, const Message& message) const;
    void take_effect_once(const Message& message);
    void take_effect_and_ack(std::span<const Message> messages);

    const Options options_;
    std::mt19937_64 random_;
    const std::unique_ptr<Store> store_;
    Inbox inbox_;
};

}  // namespace postroom::torture
