#include "postroom/restore.hpp"

#include <fmt/format.h>

#include <set>

namespace postroom {

namespace {

std::set<std::string, std::less<>> marks_of(const std::string& place) {
    std::set<std::string, std::less<>> marks;
    for (std::size_t begin = 0; begin < place.size();) {
        const std::size_t end = std::min(place.find('\n', begin), place.size());
        if (end > begin) marks.insert(place.substr(begin, end - begin));
        begin = end + 1;
    }
    return marks;
}

// Of a place that tells nothing nobody can say that it is another one.
bool may_be_same(const std::string& place, const std::string& here) {
    const auto before = marks_of(place);
    const auto now = marks_of(here);
    if (before.empty() || now.empty()) return true;
    for (const std::string& mark : now)
        if (before.contains(mark)) return true;
    return false;
}

std::string on_one_line(const std::string& place) {
    std::string out;
    for (const std::string& mark : marks_of(place)) out += (out.empty() ? "" : ", ") + mark;
    return out;
}

}  // namespace

std::optional<std::string> sign_of_restore(const StoreHome& home,
                                           const std::optional<std::uint64_t>& remembered) {
    if (home.incarnation.empty()) return std::nullopt;
    if (!may_be_same(home.place, home.here))
        return fmt::format(
            "this database is a copy, or was restored elsewhere: it was at {}, and is at {}",
            on_one_line(home.place), on_one_line(home.here));
    if (remembered && home.epoch < *remembered)
        return fmt::format(
            "this database has gone back in time: its epoch is {}, and was {} before", home.epoch,
            *remembered);
    return std::nullopt;
}

RestoreControls* restore_controls_of(Store& store) {
    return dynamic_cast<RestoreControls*>(&store);
}

}  // namespace postroom
