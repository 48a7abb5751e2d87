// Drains unordered messages from two stores: one that never held an ordering key, and one in which
// many keyed messages wait behind dead heads of their keys.
//
//   ordering_drain PLAIN_URL KEYED_URL [--quick]
//
// The two take turns batch by batch, so whatever else the machine does hits both alike.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "storage/measure.hpp"

namespace {

using namespace postroom;

constexpr std::size_t keys = 100;
constexpr std::size_t waiting_per_key = 100;
constexpr std::uint32_t batch = 100;
constexpr std::size_t rounds = 5;

class Subject {
public:
    explicit Subject(const std::string& url)
        : store_(open_store(url, {.deploy_schema = true})), outbox_(*store_) {}

    // Afterwards nothing is claimable.
    void block_keys() {
        for (std::size_t n = 0; n <= waiting_per_key; ++n) {
            std::vector<NewMessage> messages(keys, sample());
            for (std::size_t key = 0; key < keys; ++key)
                messages[key].ordering_key = fmt::format("key {}", key);
            outbox_.enqueue_all(messages);
        }
        const std::vector<Message> heads = claim();
        outbox_.fail(heads, "blocks its key");
        if (heads.size() != keys || !claim().empty())
            throw std::runtime_error("the heads do not block their keys");
    }

    void fill(std::size_t count) {
        const std::vector<NewMessage> messages(1000, sample());
        for (std::size_t n = 0; n < count; n += messages.size()) outbox_.enqueue_all(messages);
    }

    // Claims and acknowledges one batch; returns how long it took.
    double drain_one() {
        const bench::Stopwatch watch;
        const std::vector<Message> messages = claim();
        outbox_.ack(messages);
        const double took = watch.seconds();
        if (messages.size() != batch) throw std::runtime_error("a batch was not full");
        return took;
    }

private:
    static NewMessage sample() {
        return {.topic = "order.placed", .payload = bench::sample_payload()};
    }

    std::vector<Message> claim() {
        return outbox_.claim(outbox_.owner(), std::chrono::minutes{5}, batch);
    }

    std::unique_ptr<Store> store_;
    Outbox outbox_;
};

// Seconds of each of the two.
std::array<double, 2> drain(std::array<Subject, 2>& subjects, std::size_t count) {
    for (Subject& subject : subjects) subject.fill(count);
    std::array<double, 2> seconds{};
    for (std::size_t n = 0; n < count / batch; ++n) {
        const std::size_t first = n % 2;
        seconds[first] += subjects[first].drain_one();
        seconds[1 - first] += subjects[1 - first].drain_one();
    }
    return seconds;
}

void compare(const std::string& plain_url, const std::string& keyed_url, std::size_t count) {
    std::array<Subject, 2> subjects{Subject(plain_url), Subject(keyed_url)};
    subjects[1].block_keys();
    drain(subjects, count / 10);  // warm-up
    std::array<std::vector<double>, 2> rates;
    std::vector<double> ratios;
    for (std::size_t round = 0; round < rounds; ++round) {
        const std::array<double, 2> seconds = drain(subjects, count);
        for (std::size_t i = 0; i < 2; ++i)
            rates[i].push_back(static_cast<double>(count) / seconds[i]);
        ratios.push_back(seconds[0] / seconds[1]);
        fmt::print("  round {}: plain {:.0f}/s, keyed rows waiting {:.0f}/s, ratio {:.3f}\n",
                   round + 1, rates[0].back(), rates[1].back(), ratios.back());
    }
    fmt::print("  median: plain {:.0f}/s, keyed rows waiting {:.0f}/s, ratio {:.3f}\n",
               bench::median(rates[0]), bench::median(rates[1]), bench::median(ratios));
}

}  // namespace

int main(int argument_count, char** arguments) {
    if (argument_count < 3) {
        fmt::print(stderr, "usage: ordering_drain PLAIN_URL KEYED_URL [--quick]\n");
        return 2;
    }
    const bool quick = argument_count > 3 && std::string_view(arguments[3]) == "--quick";
    try {
        compare(arguments[1], arguments[2], quick ? 5000 : 50'000);
    } catch (const std::exception& error) {
        fmt::print(stderr, "ordering_drain: {}\n", error.what());
        return 1;
    }
    return 0;
}
