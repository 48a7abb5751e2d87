// Ids as text: of rows, of owners, and the texts of times that stand beside them.
#include <algorithm>
#include <array>

#include "base/duration_text.hpp"
#include "base/rfc3339.hpp"
#include "fuzz.hpp"
#include "postroom/ids.hpp"

namespace postroom::fuzz {

namespace {

void check_uuid(const Uuid& uuid) {
    require(Uuid::parse(uuid.to_string()) == uuid, "a UUID is read as it is written");
    const std::optional<WorkItemId> id = WorkItemId::from(uuid);
    if (!id) return;
    require(id->uuid() == uuid, "a row's id has one UUID");
    require(id->seq() <= WorkItemId::seq_max, "a row's number is within its limit");
    require(WorkItemId::parse(id->to_string()) == id, "a row's id is read as it is written");
}

}  // namespace

void run(std::string_view input) {
    if (const std::optional<Uuid> uuid = Uuid::parse(input)) check_uuid(*uuid);
    Uuid raw;
    std::copy_n(input.begin(), std::min(input.size(), raw.bytes.size()), raw.bytes.begin());
    check_uuid(raw);
    if (const std::optional<Instant> time = base::parse_time(input))
        require(base::parse_time(base::rfc3339(*time)) == time, "a time is read as it is written");
    if (const std::optional<Duration> duration = base::parse_duration(input)) {
        require(*duration >= Duration{}, "a duration is not negative");
        require(!base::format_duration(*duration).empty(), "a duration can be shown");
    }
}

}  // namespace postroom::fuzz
