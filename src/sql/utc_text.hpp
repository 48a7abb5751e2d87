// Times as texts for columns that know no zone.
#pragma once

#include <string>

#include "postroom/clock.hpp"

namespace postroom::sql {

// 2026-01-31T12:00:00.000001, which every setting of a session reads the same. What lies outside
// the years 1 to 9999 is moved to their end.
std::string utc_text(Instant time);

}  // namespace postroom::sql
