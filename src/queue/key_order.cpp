#include "queue/key_order.hpp"

#include <set>
#include <string_view>

#include "base/assert.hpp"
#include "queue/handler_run.hpp"

namespace postroom {

namespace {

struct Pending {
    std::vector<const Message*> messages{};
    std::vector<std::size_t> positions{};

    void add(const Message& message, std::size_t position) {
        messages.push_back(&message);
        positions.push_back(position);
    }
};

Verdict held_back() {
    return {.outcome = Outcome::release,
            .error = "an earlier message of its ordering key was not delivered",
            .delay = blameless_pause};
}

}  // namespace

std::vector<Verdict> send_in_key_order(std::span<const Message> messages,
                                       const std::function<std::vector<Verdict>(Wave)>& send) {
    std::vector<Verdict> verdicts(messages.size());
    std::set<std::string_view> stuck;
    Pending pending;
    for (std::size_t i = 0; i < messages.size(); ++i) pending.add(messages[i], i);
    while (!pending.messages.empty()) {
        Pending now;
        Pending later;
        std::set<std::string_view> keys;
        for (std::size_t i = 0; i < pending.messages.size(); ++i) {
            const Message& message = *pending.messages[i];
            const std::string_view key = message.ordering_key;
            if (stuck.contains(key)) {
                verdicts[pending.positions[i]] = held_back();
            } else {
                const bool is_first = key.empty() || keys.insert(key).second;
                (is_first ? now : later).add(message, pending.positions[i]);
            }
        }
        if (now.messages.empty()) break;
        std::vector<Verdict> sent = send(now.messages);
        POSTROOM_ASSERT(sent.size() == now.messages.size());
        for (std::size_t i = 0; i < sent.size(); ++i) {
            const std::string_view key = now.messages[i]->ordering_key;
            if (sent[i].outcome != Outcome::ack && !key.empty()) stuck.insert(key);
            verdicts[now.positions[i]] = std::move(sent[i]);
        }
        pending = std::move(later);
    }
    return verdicts;
}

}  // namespace postroom
