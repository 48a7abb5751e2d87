// TemporaryFolder: a folder of one's own that goes with all its files, unless it is kept.
#pragma once

#include <string>

namespace postroom::cli {

class TemporaryFolder {
public:
    // Throws Failure when there cannot be one.
    explicit TemporaryFolder(const std::string& purpose);
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }
    void keep() { kept_ = true; }

private:
    std::string path_;
    bool kept_ = false;
};

}  // namespace postroom::cli
