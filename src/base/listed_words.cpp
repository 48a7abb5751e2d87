#include "base/listed_words.hpp"

#include <algorithm>

namespace postroom::base {

namespace {

constexpr std::string_view separators = " \t\r\n,";

}  // namespace

std::vector<std::string> listed_words(std::string_view text) {
    std::vector<std::string> words;
    while (true) {
        const std::size_t begin = text.find_first_not_of(separators);
        if (begin == std::string_view::npos) return words;
        text.remove_prefix(begin);
        const std::size_t end = std::min(text.find_first_of(separators), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

}  // namespace postroom::base
