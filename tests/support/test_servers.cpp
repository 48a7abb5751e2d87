#include "support/test_servers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <random>

namespace postroom::test {

std::filesystem::path servers_directory() {
    const char* directory = std::getenv("POSTROOM_TEST_SERVERS");
    if (directory == nullptr || *directory == '\0') {
        throw std::runtime_error(
            "POSTROOM_TEST_SERVERS is not set: run the test through ctest, or start the servers "
            "with 'tests/servers/NAME.sh start DIR/NAME' (postgres, pgbouncer, mariadb) and set "
            "POSTROOM_TEST_SERVERS=DIR");
    }
    return directory;
}

std::map<std::string, std::string> server_values(const std::filesystem::path& directory,
                                                 const std::string& name) {
    const std::filesystem::path path = directory / name / (name + ".env");
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error(fmt::format(
            "no server runs here ({} is missing): start it with 'tests/servers/{}.sh start {}'",
            path.string(), name, (directory / name).string()));
    }
    std::map<std::string, std::string> values;
    for (std::string line; std::getline(file, line);) {
        const std::size_t equals = line.find('=');
        if (equals != std::string::npos) values[line.substr(0, equals)] = line.substr(equals + 1);
    }
    return values;
}

std::string unique_database_name() {
    static std::atomic<unsigned> counter{0};
    std::random_device random;
    return fmt::format("postroom_test_{}_{}_{:08x}", ::getpid(), ++counter, random());
}

}  // namespace postroom::test
