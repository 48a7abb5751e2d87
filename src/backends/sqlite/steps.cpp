#include "backends/sqlite/steps.hpp"

namespace postroom::sqlite {

std::size_t Steps::add(std::string_view text) { return add(text, {}, {}); }

std::size_t Steps::add_unless(std::size_t done, std::string_view text) {
    return add(text, {done}, {.back = {}, .if_changed = true});
}

std::size_t Steps::add_after(const std::vector<std::size_t>& causes, std::string_view text) {
    return add(text, causes, {});
}

std::size_t Steps::add_up_to(std::string_view ceiling, const std::vector<std::size_t>& others,
                             std::string_view text) {
    return add(text, others, {.back = {}, .ceiling = std::string(ceiling)});
}

sql::UnitText Steps::unit(bool separate) const {
    return {.statements = statements_, .separate = separate, .skips = skips_};
}

std::size_t Steps::add(std::string_view text, const std::vector<std::size_t>& others,
                       sql::Skip skip) {
    const std::size_t at = statements_.size();
    for (const std::size_t other : others) skip.back.push_back(at - other);
    statements_.emplace_back(text);
    skips_.push_back(std::move(skip));
    return at;
}

}  // namespace postroom::sqlite
