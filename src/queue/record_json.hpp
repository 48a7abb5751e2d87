// The records that operators read, as the JSON that a database keeps of them.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "postroom/operator.hpp"

namespace postroom {

// Owner, queue and last_seen are kept beside it; times are relative to last_seen.
std::string to_json(const WorkerReport& worker);
// Fills in what to_json() wrote; what is missing or of another form stays as it is. `worker` has
// its last_seen.
void read_json(WorkerReport& worker, std::string_view json);

// One attempt without its time, which the database puts in as "at", in microseconds since 1970, as
// "claimed_at" is. Its error is cut to attempt_error_chars_max.
std::string to_json(const FailedAttempt& attempt);
// An array of them. Elements that are no objects are left out.
std::vector<FailedAttempt> attempts_from_json(std::string_view json);

}  // namespace postroom
