// SystemHealth: ok, degraded or unhealthy, from what was found lately and the thresholds. Asks
// nobody.
#pragma once

#include <string>
#include <vector>

#include "admin/http/context.hpp"

namespace postroom::admin {

struct HealthCheck {
    enum class Status : std::uint8_t { ok, degraded, unhealthy };
    std::string check{};
    std::string store{};  // empty: of all
    Status status = Status::ok;
    std::string what{};
};
std::string_view to_string(HealthCheck::Status status);

// Whether the stores answer, with the schema that this program needs.
std::vector<HealthCheck> readiness_of(const Context& context);
// That, and whether the queues flow.
std::vector<HealthCheck> health_of(const Context& context);

// ok when there is none.
HealthCheck::Status worst_of(const std::vector<HealthCheck>& checks);

}  // namespace postroom::admin
