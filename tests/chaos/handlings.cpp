#include "chaos/handlings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace postroom::test {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

Handling& open_handling(std::vector<Handling>& list, const std::string& process) {
    for (Handling& handling : list)
        if (handling.process == process && handling.end == never) return handling;
    throw std::runtime_error("journal: an end without a start by process " + process);
}

}  // namespace

Handlings Handlings::read(const std::filesystem::path& journal) {
    Handlings out;
    std::ifstream in(journal);
    std::string line;
    while (std::getline(in, line) && !in.eof()) {  // a line without line end was cut off
        std::istringstream words(line);
        std::string verb;
        std::string first;
        std::string id;
        std::int64_t at = 0;
        words >> verb >> first >> id;
        if (verb == "late") {
            out.late[id] = first;
            continue;
        }
        words >> at;
        if (verb == "start") {
            out.of_message[id].push_back({.process = first, .begin = at, .end = never});
        } else if (verb == "end") {
            open_handling(out.of_message[id], first).end = at;
        } else {
            throw std::runtime_error("journal: " + line);
        }
    }
    return out;
}

std::vector<std::string> Handlings::overlaps() const {
    std::vector<std::string> lines;
    for (auto [id, list] : of_message) {
        std::sort(list.begin(), list.end(),
                  [](const Handling& a, const Handling& b) { return a.begin < b.begin; });
        for (std::size_t i = 1; i < list.size(); ++i)
            if (list[i].begin < list[i - 1].end)
                lines.push_back(fmt::format(
                    "{}: process {} began {} us before the end in {}", id, list[i].process,
                    (list[i - 1].end - list[i].begin) / 1000, list[i - 1].process));
    }
    return lines;
}

std::uint64_t Handlings::repeated() const {
    return static_cast<std::uint64_t>(std::count_if(
        of_message.begin(), of_message.end(), [](const auto& e) { return e.second.size() > 1; }));
}

std::map<std::string, std::uint64_t> Handlings::shares() const {
    std::map<std::string, std::uint64_t> out;
    for (const auto& [id, list] : of_message)
        for (const Handling& handling : list) ++out[handling.process];
    return out;
}

std::int64_t Handlings::longest_nanoseconds() const {
    std::int64_t longest = 0;
    for (const auto& [id, list] : of_message)
        for (const Handling& handling : list)
            if (handling.end != never) longest = std::max(longest, handling.end - handling.begin);
    return longest;
}

}  // namespace postroom::test
