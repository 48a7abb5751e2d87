#include "backends/mysql/render.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/mysql/times.hpp"
#include "postroom/error.hpp"

namespace postroom::mysql {

namespace {

struct Render {
    SqlValue operator()(std::monostate) const { return {}; }
    SqlValue operator()(std::int64_t number) const { return number; }
    SqlValue operator()(std::string_view text) const { return std::string(text); }
    SqlValue operator()(const sql::BlobView& blob) const { return Blob{std::string(blob.bytes)}; }
    SqlValue operator()(const Uuid& uuid) const {
        return Blob{std::string(uuid.bytes.begin(), uuid.bytes.end())};
    }
    SqlValue operator()(const Instant& time) const { return to_datetime_text(time); }
    SqlValue operator()(sql::IntArray numbers) const { return json_of(numbers); }

    template <class Array>
    SqlValue operator()(const Array&) const {
        throw Error(ErrorKind::misuse, "other drivers take arrays of integers only");
    }
};

}  // namespace

std::string json_of(sql::IntArray numbers) { return fmt::format("[{}]", fmt::join(numbers, ",")); }

SqlValue render_value(const sql::Value& value) { return std::visit(Render{}, value); }

}  // namespace postroom::mysql
