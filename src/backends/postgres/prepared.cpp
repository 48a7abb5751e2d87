#include "backends/postgres/prepared.hpp"

namespace postroom::postgres {

namespace {

constexpr std::size_t names_max = 200;  // further statements are parsed each time
constexpr std::size_t of_user_max = 100;
constexpr std::size_t length_max = 16'384;  // of the texts of the user that are remembered
constexpr int runs_before = 2;
constexpr int never = -1;  // in place of a number of runs

}  // namespace

const std::string* PreparedStatements::find(const std::string& sql) const {
    const auto found = names_.find(sql);
    return found == names_.end() ? nullptr : &found->second;
}

const std::string* PreparedStatements::add(const std::string& sql) {
    if (names_.size() >= names_max) return nullptr;
    return &names_.emplace(sql, "postroom_" + std::to_string(count_++)).first->second;
}

void PreparedStatements::failed(const std::string& sql) {
    if (names_.erase(sql) == 0) return;
    if (const auto found = runs_.find(sql); found != runs_.end()) found->second = never;
}

// Texts with values in them never come again; they make room for one another.
void PreparedStatements::ran(const std::string& sql) {
    if (sql.size() > length_max) return;
    if (runs_.size() >= of_user_max && !runs_.contains(sql)) {
        std::erase_if(runs_, [](const auto& entry) {
            return entry.second != never && entry.second < runs_before;
        });
        if (runs_.size() >= of_user_max) return;
    }
    int& runs = runs_[sql];
    if (runs != never && runs < runs_before) ++runs;
}

bool PreparedStatements::repeated(const std::string& sql) const {
    const auto found = runs_.find(sql);
    return found != runs_.end() && found->second >= runs_before;
}

}  // namespace postroom::postgres
