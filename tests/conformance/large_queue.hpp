// LargeQueue: an outbox with so many messages that whoever reads all of them is noticed.
//
// Its rows are written by plain SQL, a statement for each table. They are numbered from 1 on, in
// the order of their creation, which is spread over a week: first those that are delivered, then
// those that wait for something (a tenth of the rest: retrying, in line, dead), then the fresh
// ones. Of every seven the writer of one gave it its message id, by which it is keyed.
#pragma once

#include <cstdint>
#include <string>

#include "conformance/sandbox.hpp"

namespace postroom::test {

class LargeQueue {
public:
    // `pending` messages that are not delivered yet, and as many that are; 20 at least.
    LargeQueue(SqlSandbox& sandbox, std::uint64_t pending);

    std::uint64_t pending() const { return pending_; }
    std::uint64_t last_delivered() const { return pending_; }
    std::uint64_t last_waiting() const { return pending_ + pending_ / 10; }
    std::uint64_t last() const { return 2 * pending_; }

    // What single messages have, and nobody else: those of the lowest numbers of their table.
    static constexpr const char* rare_tenant = "north";
    static constexpr const char* rare_type = "cart";
    static constexpr const char* rare_error = "no such customer";
    static constexpr const char* common_error = "503";
    // The correlation id and the message id of a number.
    static std::string correlation_id(std::uint64_t seq) { return "c-" + std::to_string(seq); }
    static std::string message_id(std::uint64_t seq) { return "m-" + std::to_string(seq); }

    // The message of a number from this one on whose message id is its key too.
    static std::uint64_t keyed_from(std::uint64_t seq) {
        return seq + (key_every + key_at - seq % key_every) % key_every;
    }

    // Gives the message of this number another message id.
    void rename(std::uint64_t seq, const std::string& message_id);

private:
    static constexpr std::uint64_t key_every = 7;
    static constexpr std::uint64_t key_at = 3;

    std::string table(const std::string& name) const;
    std::string numbers(std::uint64_t first, std::uint64_t last) const;
    std::string created_at() const;
    void fill_history();
    void fill_waiting();
    void fill_live();
    void fill_keys();
    void fill_one_table();
    bool understood(const std::string& query);

    SqlSandbox& sandbox_;
    const std::uint64_t pending_;
};

}  // namespace postroom::test
