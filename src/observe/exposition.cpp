#include "observe/exposition.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.hpp"

namespace postroom {

namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string_view word_of(Exposition::Type type) {
    switch (type) {
        case Exposition::Type::counter:
            return "counter";
        case Exposition::Type::gauge:
            return "gauge";
        case Exposition::Type::histogram:
            return "histogram";
    }
    return "untyped";
}

// The format knows three escapes and wants UTF-8.
std::string escaped_label(std::string_view value) {
    std::string out;
    for (const char c : base::sanitize_utf8(value)) {
        if (c == '\\' || c == '"') out += '\\';
        out += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return out;
}

}  // namespace

void Histogram::add(Duration value) {
    const Duration counted = std::max(value, Duration::zero());
    const auto bound = std::ranges::lower_bound(latency_bucket_bounds, counted);
    ++counts[static_cast<std::size_t>(bound - latency_bucket_bounds.begin())];
    sum += counted;
}

void Exposition::family(std::string_view name, Type type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, word_of(type));
}

void Exposition::line(std::string_view suffix, Labels labels, Label extra, std::string_view value) {
    text_ += name_;
    text_ += suffix;
    char before = '{';
    const auto add = [&](const Label& label) {
        text_ += fmt::format("{}{}=\"{}\"", before, label.first, escaped_label(label.second));
        before = ',';
    };
    for (const Label& label : labels) add(label);
    if (!extra.first.empty()) add(extra);
    text_ += fmt::format("{} {}\n", before == '{' ? "" : "}", value);
}

void Exposition::sample(Labels labels, std::uint64_t value) {
    line("", labels, {}, fmt::format("{}", value));
}

void Exposition::sample(Labels labels, double value) {
    line("", labels, {}, fmt::format("{}", value));
}

void Exposition::histogram(Labels labels, const Histogram& values) {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < latency_bucket_bounds.size(); ++i) {
        below += values.counts[i];
        line("_bucket", labels, {"le", fmt::format("{}", seconds(latency_bucket_bounds[i]))},
             fmt::format("{}", below));
    }
    below += values.counts.back();
    line("_bucket", labels, {"le", "+Inf"}, fmt::format("{}", below));
    line("_sum", labels, {}, fmt::format("{}", seconds(values.sum)));
    line("_count", labels, {}, fmt::format("{}", below));
}

}  // namespace postroom
