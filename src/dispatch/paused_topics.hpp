// PausedTopics: what is held back, by the name of a topic or by a pattern in which '*' stands for
// any characters.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/wildcards.hpp"

namespace postroom {

class PausedTopics {
public:
    void insert(const std::string& topic) { of(topic).insert(topic); }
    void erase(const std::string& topic) { of(topic).erase(topic); }

    bool holds(const std::string& topic) const {
        return names_.contains(topic) ||
               std::ranges::any_of(patterns_, [&](const std::string& pattern) {
                   return base::matches_wildcards(pattern, topic);
               });
    }

    // As they were given.
    std::vector<std::string> list() const {
        std::vector<std::string> out(names_.begin(), names_.end());
        out.insert(out.end(), patterns_.begin(), patterns_.end());
        return out;
    }

private:
    std::set<std::string>& of(std::string_view topic) {
        return topic.find('*') == std::string_view::npos ? names_ : patterns_;
    }

    std::set<std::string> names_;
    std::set<std::string> patterns_;
};

}  // namespace postroom
