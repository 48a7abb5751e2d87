// QueueWorker: enqueues, claims and settles until it is killed, and keeps a journal of it.
//
// It does what real workers do, and all that goes wrong with them: it rolls back, commits late, is
// too late to settle, leaves leases to expire, gives messages back and fails them. What is random
// follows from the seed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "postroom/outbox.hpp"
#include "postroom/store.hpp"
#include "torture/journal.hpp"

namespace postroom::torture {

class QueueWorker {
public:
    enum class Role : std::uint8_t {
        enqueue,
        claim,
        both,
        drain,  // acknowledges whatever there is, and ends when nothing is left
    };
    struct Options {
        Role role = Role::both;
        std::filesystem::path journal{};
        std::uint64_t seed = 0;
        Duration lease{};
        std::string orders_table{};  // as SQL writes it; has a column id
    };

    QueueWorker(std::unique_ptr<Store> store, const Options& options);

    // False: it is drained.
    bool step();
    void note_error(const std::string& what);

private:
    bool chance(int percent);
    bool drained();
    std::vector<NewMessage> make_messages();
    std::string plan(const char* end, const char* kind, const std::vector<NewMessage>& messages);
    void kept();
    void enqueue();
    void write_order(const std::vector<NewMessage>& messages);
    void write_business(Transaction& tx, const std::vector<NewMessage>& messages) const;
    void work();
    void settle(const std::vector<Message>& messages);
    const char* choose_outcome(Settlement& settlement);

    const Options options_;
    const bool drains_;
    const bool enqueues_;
    const bool claims_;
    const std::string name_;
    const OwnerToken owner_ = OwnerToken::generate();
    std::mt19937_64 random_;
    Journal journal_;
    const std::unique_ptr<Store> store_;
    Outbox outbox_;
    std::uint64_t made_ = 0;
    std::uint64_t tag_ = 0;
};

}  // namespace postroom::torture
