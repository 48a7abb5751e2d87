#include "backends/sqlite/steps.hpp"

#include "backends/sqlite/fragments.hpp"

namespace postroom::sqlite {

std::size_t Steps::add(std::string_view text) { return add(text, {}, false); }

std::size_t Steps::add_unless(std::size_t done, std::string_view text) {
    return add(text, {done}, true);
}

std::size_t Steps::add_after(const std::vector<std::size_t>& causes, std::string_view text) {
    return add(text, causes, false);
}

sql::UnitText Steps::unit(bool separate) const {
    return {.statements = statements_, .separate = separate, .skips = skips_};
}

std::size_t Steps::add(std::string_view text, const std::vector<std::size_t>& others,
                       bool if_changed) {
    const std::size_t at = statements_.size();
    sql::Skip skip{.back = {}, .if_changed = if_changed};
    for (const std::size_t other : others) skip.back.push_back(at - other);
    statements_.push_back(weave(text));
    skips_.push_back(std::move(skip));
    return at;
}

}  // namespace postroom::sqlite
