// Exposition: figures in the text format of Prometheus, version 0.0.4.
//
// A family is begun once, with its help text and type; its samples follow. Label values are
// escaped, whatever their bytes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "postroom/metrics.hpp"

namespace postroom {

using Label = std::pair<std::string_view, std::string_view>;
using Labels = std::initializer_list<Label>;

// A histogram whose bounds are latency_bucket_bounds.
struct Histogram {
    std::array<std::uint64_t, latency_bucket_bounds.size() + 1> counts{};  // each for itself
    Duration sum{};

    void add(Duration value);
};

class Exposition {
public:
    enum class Type : std::uint8_t { counter, gauge, histogram };

    void family(std::string_view name, Type type, std::string_view help);
    // Of the family that was begun last.
    void sample(Labels labels, std::uint64_t value);
    void sample(Labels labels, double value);
    void histogram(Labels labels, const Histogram& values);

    const std::string& text() const { return text_; }

private:
    void line(std::string_view suffix, Labels labels, Label extra, std::string_view value);

    std::string name_;
    std::string text_;
};

}  // namespace postroom
