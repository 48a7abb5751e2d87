#include "admin/change.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "admin/state_words.hpp"

namespace postroom::admin {

namespace {

struct ChangeWords {
    std::string_view verb;
    std::string_view participle;
    StateSet changeable;
    State usual;  // when a filter names no state
};

// In the order of Change.
constexpr std::array change_words{
    ChangeWords{"redrive", "redriven", State::dead, State::dead},
    ChangeWords{"discard", "discarded", {State::dead, State::ready}, State::dead},
    ChangeWords{"retry-now", "retried", State::ready, State::ready},
};

const ChangeWords& words_of(Change change) {
    return change_words.at(static_cast<std::size_t>(change));
}

}  // namespace

std::string_view verb_of(Change change) { return words_of(change).verb; }
std::string_view participle_of(Change change) { return words_of(change).participle; }
StateSet changeable_states(Change change) { return words_of(change).changeable; }

Query change_filter(Change change, Query filter) {
    if (filter.state.empty()) filter.state = words_of(change).usual;
    if (change == Change::retry_now) filter.put_off = true;
    for (const State state :
         {State::in_progress, State::ready, State::dead, State::done, State::seen}) {
        if (filter.state.contains(state) && !changeable_states(change).contains(state))
            throw std::invalid_argument(fmt::format("messages that are {} cannot be {}",
                                                    state_word(state), participle_of(change)));
    }
    filter.payloads = false;
    return filter;
}

}  // namespace postroom::admin
