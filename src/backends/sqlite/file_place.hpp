// Where a database file is, for the restore guard.
//
// Two marks, of which one has to stay: its path survives a restart, a remount and a file system
// that was moved to another disk, its inode survives a rename. A copy has neither.
#pragma once

#include <string>

namespace postroom::sqlite {

// Empty when the file cannot be looked at.
std::string place_of(const std::string& path);

}  // namespace postroom::sqlite
