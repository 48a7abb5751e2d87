#include "cli/input/read_all.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "cli/failure.hpp"

namespace postroom::cli {

std::string read_all(int descriptor, const std::string& what) {
    std::string bytes;
    std::array<char, 65536> buffer{};
    while (true) {
        const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
        if (got > 0) {
            bytes.append(buffer.data(), static_cast<std::size_t>(got));
        } else if (got == 0) {
            return bytes;
        } else if (errno != EINTR) {
            throw Failure(ExitCode::input, fmt::format("cannot read {}: {}; nothing was done", what,
                                                       std::system_category().message(errno)));
        }
    }
}

}  // namespace postroom::cli
