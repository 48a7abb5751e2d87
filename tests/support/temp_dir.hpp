// TempDir: a directory of its own, removed with everything in it when the object ends.
#pragma once

#include <filesystem>
#include <string_view>

namespace postroom::test {

class TempDir {
public:
    // Below $TMPDIR, or /tmp when that is unset. Throws std::system_error when it cannot be made.
    TempDir();
    ~TempDir();
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

}  // namespace postroom::test
