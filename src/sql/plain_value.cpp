#include "sql/plain_value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "postroom/error.hpp"

namespace postroom::sql {

namespace {

struct ToPlain {
    SqlValue (*of_time)(Instant);

    SqlValue operator()(std::monostate) const { return {}; }
    SqlValue operator()(std::int64_t number) const { return number; }
    SqlValue operator()(std::string_view text) const { return std::string(text); }
    SqlValue operator()(const BlobView& blob) const { return Blob{std::string(blob.bytes)}; }
    SqlValue operator()(const Uuid& uuid) const {
        return Blob{std::string(uuid.bytes.begin(), uuid.bytes.end())};
    }
    SqlValue operator()(const Instant& time) const { return of_time(time); }
    SqlValue operator()(IntArray numbers) const { return json_of(numbers); }

    template <class Array>
    SqlValue operator()(const Array&) const {
        throw Error(ErrorKind::misuse, "a driver takes arrays of integers only");
    }
};

}  // namespace

std::string json_of(IntArray numbers) { return fmt::format("[{}]", fmt::join(numbers, ",")); }

SqlValue plain_value(const Value& value, SqlValue (*of_time)(Instant)) {
    return std::visit(ToPlain{of_time}, value);
}

}  // namespace postroom::sql
