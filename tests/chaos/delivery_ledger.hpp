// DeliveryLedger: what arrived outside, in the order in which it did.
//
// Relays (sink type stdout, with a path) and keyed children append to one file a line of JSON for
// each message. Of a keyed message the payload is "WRITER NUMBER", where the number only rises.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace postroom::test {

struct Delivery {
    std::string message_id;
    std::string writer{};  // empty: without an ordering key
    std::uint64_t number = 0;
};

class DeliveryLedger {
public:
    explicit DeliveryLedger(std::filesystem::path path) : path_(std::move(path)) {}

    // Everything that stands there by now. Earlier ones keep their places.
    const std::vector<Delivery>& read();

    // How many came more than once.
    std::uint64_t duplicates() const;

    struct Order {
        std::vector<std::string> overtakings{};  // a line for each
        std::uint64_t steps_back = 0;            // a message came again after one that is behind it
    };
    // Of the messages in `there`: after each of a writer comes the next, or one that came before.
    Order order(const std::set<std::string>& there) const;

    // One journal line of each delivery, as of a worker that held and acknowledged it.
    void write_journal(const std::filesystem::path& path) const;

private:
    void take(const std::string& line);

    const std::filesystem::path path_;
    std::ifstream in_;
    std::string unfinished_;
    std::vector<Delivery> deliveries_;
};

}  // namespace postroom::test
