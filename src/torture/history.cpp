#include "torture/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "torture/journal.hpp"

namespace postroom::torture {

History::History(const std::filesystem::path& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) read(entry.path());
}

void History::read(const std::filesystem::path& path) {
    std::map<std::string, std::size_t> by_tag;
    for (const std::string& line : whole_lines(path)) {
        std::istringstream words(line);
        std::string verb;
        std::string word;
        std::string id;
        words >> verb;
        if (verb == "plan") {
            std::string tag;
            Plan plan;
            words >> word >> tag;
            plan.commit = word == "commit";
            words >> word;
            plan.order = word == "order";
            while (words >> id) plan.ids.push_back(id);
            by_tag[tag] = plans_.size();
            plans_.push_back(std::move(plan));
        } else if (verb == "kept") {
            words >> word;
            plans_.at(by_tag.at(word)).kept = true;
        } else if (verb == "held") {
            Hold hold;
            words >> id >> hold.lease_id >> hold.since >> hold.until;
            holds_[id].push_back(hold);
        } else if (verb == "settle") {
            std::int64_t lease_id = 0;
            std::int64_t at = 0;
            words >> word >> id >> lease_id >> at;
            if (word == "ack") ack_tried_.insert(id);
            if (word == "fail") fail_tried_.insert(id);
            if (Hold* held = hold(id, lease_id)) held->settled_after = at;
        } else if (verb == "settled") {
            words >> word >> id;
            if (word == "done") ++acked_[id];
            if (word == "dead") failed_.insert(id);
            if (word == "lost") ++lost_leases_;
        } else if (verb == "handed") {
            std::uint64_t count = 0;
            words >> count;
            handed_over_ += count;
        } else if (verb == "error") {
            errors_.push_back(line);
        } else {
            throw std::runtime_error("journal: " + line);
        }
    }
}

Hold* History::hold(const std::string& id, std::int64_t lease_id) {
    for (Hold& hold : holds_[id])
        if (hold.lease_id == lease_id) return &hold;
    return nullptr;
}

template <class Predicate>
std::uint64_t History::count_messages(Predicate predicate) const {
    std::uint64_t count = 0;
    for (const Plan& plan : plans_)
        if (predicate(plan)) count += plan.ids.size();
    return count;
}

std::uint64_t History::confirmed() const {
    return count_messages([](const Plan& plan) { return plan.kept; });
}

std::uint64_t History::rolled_back() const {
    return count_messages([](const Plan& plan) { return !plan.commit; });
}

std::uint64_t History::in_doubt() const {
    return count_messages([](const Plan& plan) { return plan.commit && !plan.kept; });
}

std::uint64_t History::lost(const Stored& stored) const {
    std::uint64_t lost = 0;
    for (const Plan& plan : plans_)
        for (const std::string& id : plan.ids) lost += plan.kept && !stored.states.contains(id);
    return lost;
}

std::uint64_t History::forget_missing(const Stored& stored) {
    const auto is_missing = [&](const std::string& id) { return !stored.states.contains(id); };
    std::uint64_t forgotten = 0;
    for (Plan& plan : plans_) {
        if (!std::all_of(plan.ids.begin(), plan.ids.end(), is_missing)) continue;
        forgotten += plan.kept ? plan.ids.size() : 0;
        plan.kept = false;
        for (const std::string& id : plan.ids) holds_.erase(id);
    }
    return forgotten;
}

// All of a transaction or nothing of it; what was confirmed is there, what was rolled back is not.
void History::check_plan(const Plan& plan, const Stored& stored,
                         std::vector<std::string>& broken) const {
    std::size_t messages = 0;
    std::size_t orders = 0;
    for (const std::string& id : plan.ids) {
        messages += stored.states.contains(id);
        orders += stored.orders.contains(id);
    }
    const std::string& name = plan.ids.at(0);
    if (!plan.commit && messages + orders > 0)
        broken.push_back(fmt::format("{}: rolled back, yet there", name));
    if (plan.kept && messages != plan.ids.size())
        broken.push_back(fmt::format("{}: committed, yet {} of {} messages are there", name,
                                     messages, plan.ids.size()));
    if (messages != 0 && messages != plan.ids.size())
        broken.push_back(fmt::format("{}: {} of {} messages", name, messages, plan.ids.size()));
    if (plan.order && orders != messages)
        broken.push_back(fmt::format("{}: {} messages but {} orders", name, messages, orders));
}

void History::check_message(const std::string& id, const std::vector<State>& states,
                            std::vector<std::string>& broken) const {
    if (states.size() != 1) {
        broken.push_back(fmt::format("{}: there {} times", id, states.size()));
        return;
    }
    const State state = states.front();
    const std::string_view word = state_name(Queue::outbox, state);
    if (state != State::done && state != State::dead)
        broken.push_back(fmt::format("{}: left in state {}", id, word));
    if (state == State::done && !(holds_.contains(id) && ack_tried_.contains(id)))
        broken.push_back(fmt::format("{}: done, though nobody acknowledged it", id));
    if (state == State::dead && !fail_tried_.contains(id))
        broken.push_back(fmt::format("{}: dead, though nobody failed it", id));
    if (acked_.contains(id) && state != State::done)
        broken.push_back(fmt::format("{}: acknowledged, yet in state {}", id, word));
    if (failed_.contains(id) && state != State::dead)
        broken.push_back(fmt::format("{}: failed, yet in state {}", id, word));
}

std::vector<std::string> History::broken_promises(const Stored& stored) const {
    std::vector<std::string> broken;
    std::set<std::string> planned;
    for (const Plan& plan : plans_) {
        check_plan(plan, stored, broken);
        planned.insert(plan.ids.begin(), plan.ids.end());
    }
    for (const auto& [id, states] : stored.states) {
        check_message(id, states, broken);
        if (!planned.contains(id)) broken.push_back(fmt::format("{}: nobody enqueued it", id));
    }
    for (const auto& [id, times] : acked_)
        if (times > 1) broken.push_back(fmt::format("{}: acknowledged {} times", id, times));
    for (const auto& [id, list] : holds_)
        if (!stored.states.contains(id))
            broken.push_back(fmt::format("{}: delivered, never there", id));
    return broken;
}

}  // namespace postroom::torture
