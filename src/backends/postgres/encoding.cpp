#include "backends/postgres/encoding.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "postroom/error.hpp"

namespace postroom::postgres {

namespace {

constexpr int text_format = 0;
constexpr int binary_format = 1;
constexpr std::size_t params_max = 65'535;

// Object ids of the built-in types, which never change.
constexpr std::int32_t bytea_oid = 17;
constexpr std::int32_t int8_oid = 20;
constexpr std::int32_t text_oid = 25;
constexpr std::int32_t timestamptz_oid = 1184;

template <class Unsigned>
void append_big_endian(std::string& out, Unsigned value) {
    for (int shift = static_cast<int>(sizeof(Unsigned)) * 8 - 8; shift >= 0; shift -= 8) {
        out.push_back(static_cast<char>((value >> shift) & 0xFFU));
    }
}

void append_int32(std::string& out, std::int32_t value) {
    append_big_endian(out, static_cast<std::uint32_t>(value));
}

void append_int64(std::string& out, std::int64_t value) {
    append_big_endian(out, static_cast<std::uint64_t>(value));
}

std::int64_t server_time(Instant time) { return time.time_since_epoch().count() - epoch_offset_us; }

std::int32_t checked_size(std::size_t size) {
    if (size > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        throw std::invalid_argument("value: larger than the 2 GB that PostgreSQL takes");
    }
    return static_cast<std::int32_t>(size);
}

// One-dimensional array; `append_element` writes length and bytes of one element.
template <class Elements, class AppendElement>
std::string encode_array(const Elements& elements, std::int32_t type, bool has_null,
                         AppendElement append_element) {
    std::string out;
    append_int32(out, elements.empty() ? 0 : 1);
    append_int32(out, has_null ? 1 : 0);
    append_int32(out, type);
    if (elements.empty()) return out;
    append_int32(out, checked_size(elements.size()));
    append_int32(out, 1);  // the first index
    for (const auto& element : elements) append_element(out, element);
    return out;
}

void append_sized(std::string& out, std::string_view bytes) {
    append_int32(out, checked_size(bytes.size()));
    out.append(bytes);
}

template <class Optionals>
bool any_null(const Optionals& elements) {
    for (const auto& element : elements) {
        if (!element) return true;
    }
    return false;
}

struct Encoder {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(std::int64_t value) const {
        std::string out;
        append_int64(out, value);
        return out;
    }
    std::string operator()(std::string_view text) const { return std::string(text); }
    std::string operator()(const sql::BlobView& blob) const { return std::string(blob.bytes); }
    std::string operator()(const Uuid& uuid) const {
        return {uuid.bytes.begin(), uuid.bytes.end()};
    }
    std::string operator()(Instant time) const { return (*this)(server_time(time)); }
    std::string operator()(sql::IntArray array) const {
        return encode_array(array, int8_oid, false, [](std::string& out, std::int64_t value) {
            append_int32(out, 8);
            append_int64(out, value);
        });
    }
    std::string operator()(sql::TextArray array) const {
        return encode_array(array, text_oid, any_null(array),
                            [](std::string& out, const auto& text) {
                                if (text) {
                                    append_sized(out, *text);
                                } else {
                                    append_int32(out, -1);
                                }
                            });
    }
    std::string operator()(sql::BlobArray array) const {
        return encode_array(
            array, bytea_oid, false,
            [](std::string& out, const sql::BlobView& blob) { append_sized(out, blob.bytes); });
    }
    std::string operator()(sql::TimeArray array) const {
        return encode_array(array, timestamptz_oid, any_null(array),
                            [](std::string& out, const auto& time) {
                                append_int32(out, time ? 8 : -1);
                                if (time) append_int64(out, server_time(*time));
                            });
    }
};

}  // namespace

std::string encode(const sql::Value& value) { return std::visit(Encoder{}, value); }

void ParamList::reserve(std::size_t count) {
    encoded_.reserve(count);
    pointers_.reserve(count);
    lengths_.reserve(count);
    formats_.reserve(count);
}

ParamList::ParamList(const sql::Call& call) {
    reserve(call.statement->names.size());
    for (const std::string& name : call.statement->names) add(call.params->at(name));
}

ParamList::ParamList(const std::vector<SqlValue>& values) {
    if (values.size() > params_max) {
        throw Error(ErrorKind::misuse,
                    fmt::format("{} parameters, PostgreSQL takes at most {} in one statement",
                                values.size(), params_max));
    }
    reserve(values.size());
    for (const SqlValue& value : values) {
        if (const auto* integer = std::get_if<std::int64_t>(&value)) {
            add_bytes(encoded_.emplace_back(std::to_string(*integer)), text_format);
        } else if (const auto* text = std::get_if<std::string>(&value)) {
            // libpq ends text at the first NUL; the server must get to see and refuse it.
            add_bytes(*text, text->find('\0') == std::string::npos ? text_format : binary_format);
        } else if (const auto* blob = std::get_if<Blob>(&value)) {
            add_bytes(blob->bytes, binary_format);
        } else {
            add_null();
        }
    }
}

void ParamList::add(const sql::Value& value) {
    if (std::holds_alternative<std::monostate>(value)) {
        add_null();
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
        add_bytes(*text, binary_format);
    } else if (const auto* blob = std::get_if<sql::BlobView>(&value)) {
        add_bytes(blob->bytes, binary_format);
    } else {
        add_bytes(encoded_.emplace_back(encode(value)), binary_format);
    }
}

void ParamList::add_bytes(std::string_view bytes, int format) {
    // A null pointer means NULL, and an empty view may have one.
    pointers_.push_back(bytes.data() == nullptr ? "" : bytes.data());
    lengths_.push_back(checked_size(bytes.size()));
    formats_.push_back(format);
    size_ += bytes.size();
}

void ParamList::add_null() {
    pointers_.push_back(nullptr);
    lengths_.push_back(0);
    formats_.push_back(binary_format);
}

}  // namespace postroom::postgres
