#include "backends/mysql/bindings.hpp"

#include "backends/mysql/times.hpp"
#include "postroom/error.hpp"
#include "sql/plain_value.hpp"

namespace postroom::mysql {

namespace {

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

void Bindings::add_null() {
    MYSQL_BIND bind{};
    bind.buffer_type = MYSQL_TYPE_NULL;
    binds_.push_back(bind);
    bytes_ += bytes_per_value;
}

void Bindings::add_integer(std::int64_t number) {
    MYSQL_BIND bind{};
    bind.buffer_type = MYSQL_TYPE_LONGLONG;
    bind.buffer = &integers_.emplace_back(number);
    binds_.push_back(bind);
    bytes_ += bytes_per_value;
}

void Bindings::add_bytes(std::string_view bytes, enum_field_types type) {
    static char none = '\0';
    MYSQL_BIND bind{};
    bind.buffer_type = type;
    // The driver only reads what is bound as a parameter.
    bind.buffer = bytes.empty() ? &none : const_cast<char*>(bytes.data());
    bind.buffer_length = bytes.size();
    binds_.push_back(bind);
    bytes_ += bytes_per_value + bytes.size();
}

void Bindings::add_time(Instant time) {
    MYSQL_BIND bind{};
    bind.buffer_type = MYSQL_TYPE_DATETIME;
    bind.buffer = &times_.emplace_back(to_datetime(time));
    binds_.push_back(bind);
    bytes_ += bytes_per_value;
}

void Bindings::add(const sql::Value& value) {
    std::visit(Overloaded{
                   [&](std::monostate) { add_null(); },
                   [&](std::int64_t number) { add_integer(number); },
                   [&](std::string_view text) { add_bytes(text, MYSQL_TYPE_STRING); },
                   [&](const sql::BlobView& blob) { add_bytes(blob.bytes, MYSQL_TYPE_BLOB); },
                   [&](const Uuid& uuid) {
                       texts_.emplace_back(uuid.bytes.begin(), uuid.bytes.end());
                       add_bytes(texts_.back(), MYSQL_TYPE_BLOB);
                   },
                   [&](const Instant& time) { add_time(time); },
                   [&](sql::IntArray numbers) {
                       add_bytes(texts_.emplace_back(sql::json_of(numbers)), MYSQL_TYPE_STRING);
                   },
                   [&](const auto&) {
                       throw Error(ErrorKind::misuse, "an array where one value is needed");
                   },
               },
               value);
}

void Bindings::add(const SqlValue& value) {
    std::visit(Overloaded{
                   [&](std::monostate) { add_null(); },
                   [&](std::int64_t number) { add_integer(number); },
                   [&](const std::string& text) { add_bytes(text, MYSQL_TYPE_STRING); },
                   [&](const Blob& blob) { add_bytes(blob.bytes, MYSQL_TYPE_BLOB); },
               },
               value);
}

void Bindings::add_element(const sql::Value& value, std::size_t index) {
    std::visit(Overloaded{
                   [&](sql::IntArray numbers) { add_integer(numbers[index]); },
                   [&](sql::TextArray texts) {
                       if (texts[index]) return add_bytes(*texts[index], MYSQL_TYPE_STRING);
                       add_null();
                   },
                   [&](sql::BlobArray blobs) { add_bytes(blobs[index].bytes, MYSQL_TYPE_BLOB); },
                   [&](sql::TimeArray times) {
                       if (times[index]) return add_time(*times[index]);
                       add_null();
                   },
                   [&](const auto&) { add(value); },
               },
               value);
}

}  // namespace postroom::mysql
