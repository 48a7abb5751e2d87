#include "support/source_file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace postroom::test {

std::string read_source_file(const std::string& name) {
    const std::filesystem::path path = std::filesystem::path(POSTROOM_SOURCE_DIR) / name;
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace postroom::test
