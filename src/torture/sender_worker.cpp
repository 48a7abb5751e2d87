#include "torture/sender_worker.hpp"

#include <fmt/format.h>

#include <sstream>
#include <vector>

namespace postroom::torture {

namespace {

constexpr std::uint64_t group_max = 20;
constexpr const char* source = "torture";

}  // namespace

SenderWorker::SenderWorker(std::unique_ptr<Store> store, const Options& options)
    : random_(options.seed),
      count_(options.first),
      journal_(options.journal),
      store_(std::move(store)),
      inbox_(*store_, {.queue = {.observer = &silence()}}) {}

bool SenderWorker::step() {
    ++count_;
    std::set<std::string> ids;
    for (std::uint64_t i = 0; i <= random_() % group_max; ++i)
        ids.insert(fmt::format("m{}", random_() % count_));
    std::vector<ReceivedMessage> messages;
    std::string line;
    for (const std::string& id : ids) {
        line += ' ' + id;
        messages.push_back(
            {.topic = "payment.received", .source = source, .message_id = id, .payload = "{}"});
    }
    journal_.write(fmt::format("offer{}\n", line));
    inbox_.enqueue_all(messages);
    journal_.write(fmt::format("took{}\n", line));
    return true;
}

Offers Offers::read(const std::filesystem::path& folder) {
    Offers offers;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        for (const std::string& line : whole_lines(entry.path())) {
            std::istringstream words(line);
            std::string verb;
            words >> verb;
            for (std::string id; words >> id;) {
                if (verb == "offer") offers.offered.insert(id);
                if (verb != "took") continue;
                offers.taken.insert(id);
                ++offers.arrivals;
            }
        }
    }
    return offers;
}

}  // namespace postroom::torture
