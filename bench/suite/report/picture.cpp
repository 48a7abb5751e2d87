#include "suite/report/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "suite/report/figures.hpp"

namespace bench {
namespace {

constexpr double width = 900;
constexpr double label_width = 250;
constexpr double bar_max = 470;
constexpr double line_height = 20;

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '&') {
            out += "&amp;";
        } else if (c == '<') {
            out += "&lt;";
        } else {
            out += c;
        }
    }
    return out;
}

std::string text_at(double x, double y, const std::string& text, const std::string& style) {
    return fmt::format("<text x=\"{}\" y=\"{:.0f}\" {}>{}</text>\n", x, y, style, escaped(text));
}

const char* colour_of(Role role) {
    switch (role) {
        case Role::floor:
            return "#9aa5b1";
        case Role::peer:
            return "#4a78b5";
        default:
            return "#2f7d4f";
    }
}

// A bar from zero, a thin line from the lowest to the highest sample, and the figure behind it.
std::string bar(const Series& series, const Spread& value, double y, double scale) {
    const char* const colour = colour_of(series.role);
    std::string out = text_at(label_width - 8, y + 13, series.name, "text-anchor=\"end\"");
    out += fmt::format("<rect x=\"{}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"15\" fill=\"{}\"/>\n",
                       label_width, y + 1, std::max(1.0, value.median * scale), colour);
    out += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.0f}\" x2=\"{:.1f}\" y2=\"{:.0f}\" stroke=\"#222\"/>\n",
        label_width + value.low * scale, y + 8.5, label_width + value.high * scale, y + 8.5);
    out += text_at(label_width + value.high * scale + 8, y + 13, figure(value.median), "");
    return out;
}

struct Drawing {
    std::string body{};
    double y = 60;
};

// Each group has a scale of its own: it is the ratio within it that counts.
void draw_group(Drawing& drawing, const Group& group, const std::string& metric_name) {
    double highest = 0;
    for (const Series& series : group.series) {
        if (const auto value = spread(series, metric_name))
            highest = std::max(highest, value->high);
    }
    if (highest <= 0) return;
    drawing.body +=
        text_at(8, drawing.y + 14, group.engine + ", " + group.setting, "font-weight=\"bold\"");
    drawing.y += line_height;
    for (const Series& series : group.series) {
        const auto value = spread(series, metric_name);
        if (!value) continue;
        drawing.body += bar(series, *value, drawing.y, bar_max / highest);
        drawing.y += line_height;
    }
    drawing.y += line_height / 2;
}

}  // namespace

bool write_picture(const Results& results, const Question& question,
                   const std::filesystem::path& folder) {
    const std::string& metric_name = has_peers(results) ? question.peers_metric : question.metric;
    Drawing drawing;
    for (const Group& group : results.groups) {
        if (group.question == question.id) draw_group(drawing, group, metric_name);
    }
    if (drawing.body.empty()) return false;
    std::ofstream out(folder / (question.id + ".svg"));
    out << fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" "
        "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        width, drawing.y + 10);
    out << text_at(8, 24, question.title, "font-size=\"17\" font-weight=\"bold\"");
    out << text_at(8, 44,
                   metric_name + (has_peers(results) ? "; blue: peers" : "") +
                       "; grey: floor, green: ours; line: lowest to highest sample; "
                       "each group has its own scale",
                   "fill=\"#555\"");
    out << drawing.body << "</svg>\n";
    return true;
}

}  // namespace bench
