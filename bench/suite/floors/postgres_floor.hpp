// The hand-written loops on libpq.
#pragma once

#include <memory>
#include <string>

#include "suite/floors/floor.hpp"

namespace bench {

std::unique_ptr<Floor> make_postgres_floor(const std::string& url);

}  // namespace bench
