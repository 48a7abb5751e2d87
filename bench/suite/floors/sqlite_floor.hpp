// The hand-written loops on sqlite3.
#pragma once

#include <memory>
#include <string>

#include "suite/floors/floor.hpp"

namespace bench {

std::unique_ptr<Floor> make_sqlite_floor(const std::string& path);

}  // namespace bench
