#include "backends/sqlserver/session.hpp"

#include <sqlext.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "backends/sqlserver/link.hpp"
#include "base/utf16.hpp"

namespace postroom::sqlserver {

namespace {

// A server that has not answered so long after the statement's own limit never will.
constexpr Duration answer_slack = std::chrono::seconds{10};

// One for the process, never freed: connections may outlive every static object.
SQLHENV environment() {
    static SQLHENV const only = [] {
        SQLHENV made = nullptr;
        if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &made)))
            throw Error(ErrorKind::unavailable, "unixODBC has no environment to give");
        // NOLINTNEXTLINE(performance-no-int-to-ptr): as ODBC has it
        SQLSetEnvAttr(made, SQL_ATTR_ODBC_VERSION, reinterpret_cast<SQLPOINTER>(SQL_OV_ODBC3), 0);
        return made;
    }();
    return only;
}

std::vector<std::string> installed_drivers() {
    std::vector<std::string> names;
    std::array<SQLCHAR, 256> name{};
    std::array<SQLCHAR, 1024> attributes{};
    SQLSMALLINT name_length = 0;
    SQLSMALLINT attributes_length = 0;
    for (SQLUSMALLINT direction = SQL_FETCH_FIRST;
         SQL_SUCCEEDED(SQLDrivers(environment(), direction, name.data(), name.size(), &name_length,
                                  attributes.data(), attributes.size(), &attributes_length));
         direction = SQL_FETCH_NEXT)
        names.emplace_back(name.begin(), name.begin() + name_length);
    return names;
}

// Where FreeTDS itself looks for its settings, in this order.
std::string freetds_conf() {
    std::vector<std::string> paths;
    const auto add = [&](const char* variable, const char* rest) {
        if (const char* const value = std::getenv(variable))
            paths.push_back(std::string(value) + rest);
    };
    add("FREETDSCONF", "");
    add("FREETDS", "/etc/freetds.conf");
    add("HOME", "/.freetds.conf");
    paths.emplace_back("/etc/freetds/freetds.conf");
    for (const std::string& path : paths) {
        if (std::ifstream file(path); file) {
            std::ostringstream text;
            text << file.rdbuf();
            return text.str();
        }
    }
    return {};
}

void set_seconds(SQLHDBC connection, SQLINTEGER attribute, Duration duration) {
    const auto seconds =
        std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(duration).count());
    // NOLINTNEXTLINE(performance-no-int-to-ptr): as ODBC has it
    SQLSetConnectAttr(connection, attribute, reinterpret_cast<SQLPOINTER>(seconds), 0);
}

// Who waits for a lock is told so, as a conflict, before the statement as a whole takes too long.
std::string settings(const OpenOptions& options) {
    const auto wait =
        std::chrono::ceil<std::chrono::milliseconds>(options.statement_timeout).count();
    return fmt::format(
        "SET LOCK_TIMEOUT {}; SET TEXTSIZE 2147483647; SET XACT_ABORT OFF; "
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        std::clamp<std::int64_t>(wait, 1, 2'000'000'000));
}

}  // namespace

void Disconnect::operator()(void* connection) const {
    SQLDisconnect(connection);
    SQLFreeHandle(SQL_HANDLE_DBC, connection);
}

Duration answer_within(const OpenOptions& options) {
    return options.statement_timeout + answer_slack;
}

ConnectionHandle open_session(const Address& address, const OpenOptions& options) {
    const std::string driver = driver_for(address, installed_drivers());
    std::u16string text = base::to_utf16(connection_string(address, driver, freetds_conf()));
    SQLHDBC connection = nullptr;
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_DBC, environment(), &connection)))
        throw LinkError(diagnose(SQL_HANDLE_ENV, environment()));
    ConnectionHandle out(connection);
    set_seconds(connection, SQL_ATTR_LOGIN_TIMEOUT, options.connect_timeout);
    SQLSMALLINT length = 0;
    const SQLRETURN done = SQLDriverConnectW(
        connection, nullptr, reinterpret_cast<SQLWCHAR*>(text.data()),
        static_cast<SQLSMALLINT>(text.size()), nullptr, 0, &length, SQL_DRIVER_NOPROMPT);
    std::fill(text.begin(), text.end(), u'\0');  // it holds the password
    if (!SQL_SUCCEEDED(done)) {
        // A server that is not there and one that refuses the account are both not to be had.
        const Diagnosis diagnosis = diagnose(SQL_HANDLE_DBC, connection);
        throw Error(ErrorKind::unavailable, make_error(diagnosis).what());
    }
    Link(connection, answer_within(options)).run(settings(options));
    return out;
}

}  // namespace postroom::sqlserver
