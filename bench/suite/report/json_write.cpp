#include <fmt/format.h>

#include <fstream>
#include <set>
#include <stdexcept>

#include "suite/bars.hpp"
#include "suite/report/json.hpp"

namespace bench {
namespace {

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string number(double value) { return fmt::format("{:.6g}", value); }

std::string spread_fields(const Spread& spread) {
    return fmt::format("\"median\": {}, \"low\": {}, \"high\": {}", number(spread.median),
                       number(spread.low), number(spread.high));
}

std::string metrics_json(const Series& series) {
    std::set<std::string> names;
    for (const Sample& sample : series.samples) {
        for (const auto& [name, value] : sample) names.insert(name);
    }
    std::vector<std::string> parts;
    for (const std::string& name : names) {
        std::vector<std::string> values;
        for (const Sample& sample : series.samples) {
            const auto found = sample.find(name);
            values.push_back(found == sample.end() ? "null" : number(found->second));
        }
        parts.push_back(fmt::format("\n          {}: {{{}, \"samples\": [{}]}}", quoted(name),
                                    spread_fields(spread(series, name).value()),
                                    fmt::join(values, ", ")));
    }
    return fmt::format("{}", fmt::join(parts, ","));
}

std::string series_json(const Group& group, const Series& series) {
    std::string ratio_json = "null";
    const Series* const reference = group.find(group.reference);
    if (reference != nullptr) {
        if (const auto found = ratio(series, *reference, metric::rate))
            ratio_json = fmt::format("{{{}}}", spread_fields(*found));
    }
    return fmt::format(
        "\n      {{\"name\": {}, \"role\": \"{}\", \"rate_ratio\": {},\n        \"metrics\": "
        "{{{}}}}}",
        quoted(series.name), to_string(series.role), ratio_json, metrics_json(series));
}

std::string group_json(const Group& group) {
    std::vector<std::string> series;
    for (const Series& one : group.series) series.push_back(series_json(group, one));
    return fmt::format(
        "\n    {{\"question\": {}, \"engine\": {}, \"setting\": {}, \"reference\": {},\n     "
        "\"series\": [{}]}}",
        quoted(group.question), quoted(group.engine), quoted(group.setting),
        quoted(group.reference), fmt::join(series, ","));
}

std::string bar_json(const BarResult& result) {
    return fmt::format(
        "\n    {{\"what\": {}, \"engine\": {}, \"bar\": {}, \"value\": {}, \"measured\": {}, "
        "\"met\": {}}}",
        quoted(result.bar->what), quoted(result.bar->engine), quoted(requirement(*result.bar)),
        number(result.bar->value),
        result.measured ? fmt::format("{{{}}}", spread_fields(*result.measured)) : "null",
        result.measured ? (result.met() ? "true" : "false") : "null");
}

}  // namespace

void write_json(const Results& results, const std::filesystem::path& file) {
    std::vector<std::string> about;
    for (const auto& [name, value] : results.about)
        about.push_back(fmt::format("\n    {}: {}", quoted(name), quoted(value)));
    std::vector<std::string> groups;
    for (const Group& group : results.groups) groups.push_back(group_json(group));
    std::vector<std::string> bars;
    for (const BarResult& result : judge(results)) bars.push_back(bar_json(result));
    std::ofstream out(file);
    out << fmt::format(
        "{{\n  \"format\": 1,\n  \"mode\": {},\n  \"about\": {{{}\n  }},\n  \"groups\": [{}\n  "
        "],\n  "
        "\"bars\": [{}\n  ]\n}}\n",
        quoted(results.mode), fmt::join(about, ","), fmt::join(groups, ","), fmt::join(bars, ","));
    if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace bench
