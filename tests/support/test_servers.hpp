// What the servers of the test run have in common: where they are found, and what a statement run
// on one of them, independent of all product code, returns or throws.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace postroom::test {

// Rows of text; nothing stands for NULL.
using SqlRows = std::vector<std::vector<std::optional<std::string>>>;

// What a statement of a test's own failed with.
class SqlError : public std::runtime_error {
public:
    SqlError(const std::string& message, std::string sqlstate)
        : std::runtime_error(message), sqlstate_(std::move(sqlstate)) {}

    // Five characters; empty when the server could not be reached.
    const std::string& sqlstate() const { return sqlstate_; }

private:
    std::string sqlstate_;
};

// $POSTROOM_TEST_SERVERS. Throws std::runtime_error with the commands to run when it is not set.
std::filesystem::path servers_directory();

// What the server whose script is `name`.sh and whose files are in directory/name says of itself.
// Throws std::runtime_error with the command that starts it when it is not there: a test that needs
// it fails, it is never skipped.
std::map<std::string, std::string> server_values(const std::filesystem::path& directory,
                                                 const std::string& name);

// Unique between the threads and processes of this run, and against databases a killed run has
// left.
std::string unique_database_name();

}  // namespace postroom::test
