// Values as text, for statements that run through drivers we do not know.
#include <fmt/format.h>

#include <chrono>

#include "backends/postgres/encoding.hpp"
#include "base/hex.hpp"

namespace postroom::postgres {

namespace {

std::string time_text(Instant time) {
    using namespace std::chrono;
    const auto day = floor<days>(time);
    const year_month_day date{day};
    const hh_mm_ss clock{time - day};
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}+00",
                       static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                       static_cast<unsigned>(date.day()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count(),
                       clock.subseconds().count());
}

std::string quoted_element(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

template <class Elements, class ToText>
std::string array_literal(const Elements& elements, ToText to_text) {
    std::string out = "{";
    for (const auto& element : elements) {
        if (out.size() > 1) out += ',';
        out += to_text(element);
    }
    return out + '}';
}

struct Renderer {
    SqlValue operator()(std::monostate) const { return {}; }
    SqlValue operator()(std::int64_t value) const { return value; }
    SqlValue operator()(std::string_view text) const { return std::string(text); }
    SqlValue operator()(const sql::BlobView& blob) const { return Blob{std::string(blob.bytes)}; }
    SqlValue operator()(const Uuid& uuid) const { return uuid.to_string(); }
    SqlValue operator()(Instant time) const { return time_text(time); }
    SqlValue operator()(sql::IntArray array) const {
        return array_literal(array, [](std::int64_t value) { return std::to_string(value); });
    }
    SqlValue operator()(sql::TextArray array) const {
        return array_literal(
            array, [](const auto& text) { return text ? quoted_element(*text) : "NULL"; });
    }
    SqlValue operator()(sql::BlobArray array) const {
        return array_literal(array, [](const sql::BlobView& blob) {
            std::string hex = "\\x";
            for (const char byte : blob.bytes)
                base::append_hex(hex, static_cast<std::uint8_t>(byte));
            return quoted_element(hex);
        });
    }
    SqlValue operator()(sql::TimeArray array) const {
        return array_literal(array, [](const auto& time) {
            return time ? quoted_element(time_text(*time)) : "NULL";
        });
    }
};

}  // namespace

SqlValue render(const sql::Value& value) { return std::visit(Renderer{}, value); }

}  // namespace postroom::postgres
