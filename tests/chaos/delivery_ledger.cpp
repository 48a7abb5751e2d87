#include "chaos/delivery_ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "torture/journal.hpp"

namespace postroom::test {

namespace {

// What is written here needs no escapes.
std::string member(const std::string& json, const std::string& name) {
    const std::string opening = fmt::format("\"{}\":\"", name);
    const std::size_t begin = json.find(opening);
    if (begin == std::string::npos) throw std::runtime_error("ledger: " + json);
    const std::size_t from = begin + opening.size();
    return json.substr(from, json.find('"', from) - from);
}

// The present numbers of each writer, in order.
std::map<std::string, std::vector<std::uint64_t>> numbers_of_writers(
    const std::vector<Delivery>& deliveries, const std::set<std::string>& there) {
    std::map<std::string, std::vector<std::uint64_t>> numbers;
    for (const Delivery& delivery : deliveries)
        if (!delivery.writer.empty() && there.contains(delivery.message_id))
            numbers[delivery.writer].push_back(delivery.number);
    for (auto& [writer, list] : numbers) {
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return numbers;
}

}  // namespace

const std::vector<Delivery>& DeliveryLedger::read() {
    if (!in_.is_open()) in_.open(path_);
    in_.clear();
    for (std::string line; std::getline(in_, line);) {
        unfinished_ += line;
        if (in_.eof()) break;  // the rest of it is still to come
        take(std::exchange(unfinished_, {}));
    }
    return deliveries_;
}

void DeliveryLedger::take(const std::string& line) {
    if (line.empty()) return;
    Delivery delivery{.message_id = member(line, "message_id")};
    std::istringstream words(member(line, "payload"));
    std::string writer;
    if (words >> writer >> delivery.number) delivery.writer = writer;
    deliveries_.push_back(std::move(delivery));
}

std::uint64_t DeliveryLedger::duplicates() const {
    std::set<std::string> different;
    for (const Delivery& delivery : deliveries_) different.insert(delivery.message_id);
    return deliveries_.size() - different.size();
}

DeliveryLedger::Order DeliveryLedger::order(const std::set<std::string>& there) const {
    const auto numbers = numbers_of_writers(deliveries_, there);
    std::map<std::string, std::size_t> last;
    Order out;
    for (const Delivery& delivery : deliveries_) {
        if (delivery.writer.empty() || !there.contains(delivery.message_id)) continue;
        const std::vector<std::uint64_t>& list = numbers.at(delivery.writer);
        const auto place = static_cast<std::size_t>(
            std::lower_bound(list.begin(), list.end(), delivery.number) - list.begin());
        const auto [before, is_first] = last.try_emplace(delivery.writer, 0);
        const std::size_t place_max = is_first ? 0 : before->second + 1;
        if (place > place_max)
            out.overtakings.push_back(fmt::format("writer {}: {} came before {}", delivery.writer,
                                                  delivery.number, list[place_max]));
        out.steps_back += !is_first && place < before->second;
        before->second = place;
    }
    return out;
}

void DeliveryLedger::write_journal(const std::filesystem::path& path) const {
    torture::Journal journal(path);
    for (std::size_t i = 0; i < deliveries_.size(); ++i) {
        const std::string& id = deliveries_[i].message_id;
        journal.write(fmt::format("held {0} {1} 0 0\nsettle ack {0} {1} 0\n", id, i));
    }
}

}  // namespace postroom::test
