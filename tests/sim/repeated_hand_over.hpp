// RepeatedHandOver: a hot path with a bug: what was handed over before is handed over once more
// with the next.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "postroom/store.hpp"
#include "queue/hot_path.hpp"

namespace postroom::sim {

class RepeatedHandOver final : public HotPath {
public:
    explicit RepeatedHandOver(std::shared_ptr<HotPath> path) : path_(std::move(path)) {}

    std::optional<BornLease> reserve(std::span<const NewMessage> messages) override {
        return path_->reserve(messages);
    }
    void hand_over(const BornLease& born, std::vector<Message> messages, bool certain) override {
        std::vector<Message> again = std::exchange(last_, messages);
        path_->hand_over(born, std::move(messages), certain);
        std::vector<NewMessage> wanted;
        for (const Message& message : again) {
            wanted.emplace_back();
            wanted.back().topic = TopicName(message.topic);
        }
        if (wanted.empty()) return;
        if (const std::optional<BornLease> more = path_->reserve(wanted))
            path_->hand_over(*more, std::move(again), true);
    }
    void give_back(const BornLease& born) override { path_->give_back(born); }
    void nudge() override { path_->nudge(); }

private:
    const std::shared_ptr<HotPath> path_;
    std::vector<Message> last_;
};

}  // namespace postroom::sim
