// Health checks of a store: is the schema right, do the clocks agree, do the queues flow, is the
// database set up for it.
#pragma once

#include <vector>

#include "postroom/clock.hpp"
#include "postroom/operator.hpp"

namespace postroom::admin {

struct HealthLimits {
    Duration clock_offset = std::chrono::seconds{2};  // between the database and this machine
    Duration lag = std::chrono::minutes{5};           // age of the oldest message that waits
};

std::vector<Finding> check_schema(const SchemaReport& report);

// Changes nothing. `here`: this machine's clock. Throws as the store does.
std::vector<Finding> check_store(Store& store, const Clock& here, const HealthLimits& limits = {});

// ok, warning or bad.
std::string_view health_word(Finding::Health health);

}  // namespace postroom::admin
