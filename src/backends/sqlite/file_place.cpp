#include "backends/sqlite/file_place.hpp"

#include <sys/stat.h>

#include <filesystem>

#include <fmt/format.h>

namespace postroom::sqlite {

std::string place_of(const std::string& path) {
    struct stat status {};
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::canonical(path, error);
    if (error || ::stat(whole.c_str(), &status) != 0) return "";
    return fmt::format("file {}\ninode {}", whole.string(), status.st_ino);
}

}  // namespace postroom::sqlite
