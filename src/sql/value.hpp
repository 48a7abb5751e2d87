// Value and Params: what a statement is given. Views only; the caller keeps the bytes alive during
// the call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "postroom/clock.hpp"
#include "postroom/ids.hpp"

namespace postroom::sql {

// Bytes, as opposed to text.
struct BlobView {
    std::string_view bytes;
};

// Columns of a multi-row statement. Engines without arrays get JSON text for integers and never see
// the others.
using IntArray = std::span<const std::int64_t>;
using TextArray = std::span<const std::optional<std::string_view>>;
using BlobArray = std::span<const BlobView>;
using TimeArray = std::span<const std::optional<Instant>>;

using Value = std::variant<std::monostate, std::int64_t, std::string_view, BlobView, Uuid, Instant,
                           IntArray, TextArray, BlobArray, TimeArray>;

// Named values. A statement takes those that its text names; others are ignored.
class Params {
public:
    Params& set(std::string_view name, Value value) {
        values_.emplace_back(name, value);
        return *this;
    }
    // NULL for an empty text or an unset time.
    Params& set_text_or_null(std::string_view name, std::string_view text) {
        return set(name, text.empty() ? Value{} : Value{text});
    }
    Params& set_or_null(std::string_view name, const std::optional<Instant>& time) {
        return set(name, time ? Value{*time} : Value{});
    }
    // Throws Error{misuse} naming a parameter that was not set: a fault of the dialect's text.
    const Value& at(std::string_view name) const;
    // For who asks for the same names again and again: `place` is where it was found last.
    const Value& at(std::string_view name, std::size_t& place) const;
    void reserve(std::size_t count) { values_.reserve(count); }

private:
    std::vector<std::pair<std::string_view, Value>> values_;
};

}  // namespace postroom::sql
