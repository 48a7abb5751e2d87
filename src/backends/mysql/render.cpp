#include "backends/mysql/render.hpp"

#include "backends/mysql/times.hpp"
#include "sql/plain_value.hpp"

namespace postroom::mysql {

SqlValue render_value(const sql::Value& value) {
    return sql::plain_value(value, [](Instant time) { return SqlValue{to_datetime_text(time)}; });
}

}  // namespace postroom::mysql
