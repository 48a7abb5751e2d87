// The hand-written loops on Connector/C.
#pragma once

#include <memory>
#include <string>

#include "suite/floors/floor.hpp"

namespace bench {

std::unique_ptr<Floor> make_mariadb_floor(const std::string& url);

}  // namespace bench
