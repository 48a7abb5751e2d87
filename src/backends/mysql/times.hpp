// Times as the engine has them: DATETIME(6) in UTC, from the year 1 to the year 9999.
#pragma once

#include <mysql.h>

#include <string>
#include <string_view>

#include "postroom/clock.hpp"

namespace postroom::mysql {

// What lies outside that range becomes its end.
MYSQL_TIME to_datetime(Instant time);
std::string to_datetime_text(Instant time);

Instant from_datetime(const MYSQL_TIME& time);

}  // namespace postroom::mysql
