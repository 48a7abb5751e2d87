// What the admin API answers, read back into values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_fields.hpp"
#include "postroom/operator.hpp"

namespace postroom::cli {

// JsonValues: the members of one object. A member that is missing is empty.
class JsonValues {
public:
    // Throws Failure{failed}: what answered is not the server we know.
    explicit JsonValues(std::string_view json);

    std::string text(std::string_view name) const;
    std::string json(std::string_view name) const;  // "{}" when it is missing
    bool has(std::string_view name) const { return find(name) != nullptr; }
    std::uint64_t number(std::string_view name) const;
    std::optional<Instant> time(std::string_view name) const;
    bool flag(std::string_view name) const { return text(name) == "true"; }
    // The objects of an array.
    std::vector<JsonValues> objects(std::string_view name) const;

private:
    const base::JsonField* find(std::string_view name) const;

    std::vector<base::JsonField> fields_;
};

Message message_from(const JsonValues& json);
Counts counts_from(const JsonValues& json);
WorkerReport worker_from(const JsonValues& json);
FailedAttempt attempt_from(const JsonValues& json);
AuditEntry audit_entry_from(const JsonValues& json);
Finding finding_from(const JsonValues& json);

}  // namespace postroom::cli
