#include "backends/mysql/capabilities.hpp"

#include <fmt/format.h>

#include "postroom/error.hpp"

namespace postroom::mysql {

namespace {

constexpr unsigned long mariadb_version_min = 100600;
constexpr unsigned long mysql_version_min = 80019;

}  // namespace

Capabilities Capabilities::of(MYSQL* connection) {
    Capabilities out;
    out.mariadb = mariadb_connection(connection) != 0;
    out.insert_returning = out.mariadb;
    out.idle_limit = out.mariadb;
    out.replaces_routines = out.mariadb;
    const unsigned long least = out.mariadb ? mariadb_version_min : mysql_version_min;
    if (mysql_get_server_version(connection) < least) {
        throw Error(ErrorKind::rejected,
                    fmt::format("the server has version {}; MariaDB 10.6 or MySQL 8.0.19 is needed",
                                mysql_get_server_info(connection)));
    }
    return out;
}

std::string Capabilities::statement_limit(Duration limit) const {
    if (mariadb) {
        return fmt::format("max_statement_time = {:.3f}",
                           std::chrono::duration<double>(limit).count());
    }
    return fmt::format("max_execution_time = {}",
                       std::chrono::ceil<std::chrono::milliseconds>(limit).count());
}

}  // namespace postroom::mysql
