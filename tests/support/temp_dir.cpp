#include "support/temp_dir.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace postroom::test {

TempDir::TempDir() {
    const char* parent = std::getenv("TMPDIR");
    if (parent == nullptr || *parent == '\0') parent = "/tmp";
    std::string path = (std::filesystem::path(parent) / "postroom-test.XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
        throw std::system_error(errno, std::generic_category(), "mkdtemp " + path);
    }
    path_ = path;
}

TempDir::~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace postroom::test
