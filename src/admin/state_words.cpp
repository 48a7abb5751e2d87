#include "admin/state_words.hpp"

#include <array>
#include <utility>

namespace postroom::admin {

namespace {

using NamedState = std::pair<State, std::string_view>;
constexpr std::array named_states{NamedState{State::ready, "ready"},
                                  NamedState{State::in_progress, "in_progress"},
                                  NamedState{State::done, "done"}, NamedState{State::dead, "dead"},
                                  NamedState{State::seen, "seen"}};

}  // namespace

std::string_view state_word(State state) {
    for (const auto& [known, word] : named_states)
        if (known == state) return word;
    return "unknown";
}

std::optional<State> state_from(std::string_view word) {
    for (const auto& [state, known] : named_states)
        if (known == word) return state;
    return std::nullopt;
}

std::vector<std::string> state_words() {
    std::vector<std::string> words;
    for (const auto& [state, word] : named_states) words.emplace_back(word);
    return words;
}

}  // namespace postroom::admin
