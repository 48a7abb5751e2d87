#include "suite/results.hpp"

#include <algorithm>

#include "storage/measure.hpp"

namespace bench {
namespace {

std::optional<Spread> spread_of(const std::vector<double>& values) {
    if (values.empty()) return std::nullopt;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return Spread{median(values), *low, *high};
}

}  // namespace

const char* to_string(Role role) {
    switch (role) {
        case Role::floor:
            return "floor";
        case Role::peer:
            return "peer";
        default:
            return "ours";
    }
}

Role role_from(std::string_view text) {
    if (text == "floor") return Role::floor;
    return text == "peer" ? Role::peer : Role::ours;
}

const Series* Group::find(std::string_view name) const {
    const auto found = std::find_if(series.begin(), series.end(),
                                    [&](const Series& one) { return one.name == name; });
    return found == series.end() ? nullptr : &*found;
}

std::optional<Spread> spread(const Series& series, const std::string& name) {
    std::vector<double> values;
    for (const Sample& sample : series.samples) {
        if (const auto found = sample.find(name); found != sample.end())
            values.push_back(found->second);
    }
    return spread_of(values);
}

std::optional<Spread> ratio(const Series& series, const Series& reference,
                            const std::string& name) {
    std::vector<double> values;
    const std::size_t count = std::min(series.samples.size(), reference.samples.size());
    for (std::size_t i = 0; i < count; ++i) {
        const auto ours = series.samples[i].find(name);
        const auto theirs = reference.samples[i].find(name);
        if (ours == series.samples[i].end() || theirs == reference.samples[i].end()) continue;
        if (theirs->second > 0) values.push_back(ours->second / theirs->second);
    }
    return spread_of(values);
}

bool has_peers(const Results& results) { return results.about.contains("peers"); }

const Group* Results::find(std::string_view question, std::string_view engine,
                           std::string_view setting) const {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
        return group.question == question && group.engine == engine && group.setting == setting;
    });
    return found == groups.end() ? nullptr : &*found;
}

}  // namespace bench
