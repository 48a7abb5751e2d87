#include "cli/temporary_folder.hpp"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cli/failure.hpp"

namespace postroom::cli {

TemporaryFolder::TemporaryFolder(const std::string& purpose) {
    std::error_code error;
    const std::filesystem::path all = std::filesystem::temp_directory_path(error);
    path_ = (all / ("postroom-" + purpose + "-XXXXXX")).string();
    if (!error && ::mkdtemp(path_.data()) != nullptr) return;
    throw Failure(ExitCode::failed,
                  "cannot make a temporary folder: " +
                      (error ? error.message() : std::system_category().message(errno)) +
                      "; set TMPDIR to a folder that can be written to");
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    if (!kept_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace postroom::cli
