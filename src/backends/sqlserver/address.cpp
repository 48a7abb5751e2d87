#include "backends/sqlserver/address.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "base/loopback.hpp"
#include "postroom/error.hpp"
#include "sql/url_parts.hpp"

namespace postroom::sqlserver {

namespace {

using sql::url::refuse;

constexpr std::string_view newest_driver = "ODBC Driver 18 for SQL Server";
constexpr std::string_view free_driver = "FreeTDS";

Tls tls_of(const std::string& mode) {
    if (mode == "verify") return Tls::verified;
    if (mode == "disabled") return Tls::disabled;
    refuse("ssl-mode must be verify or disabled");
}

void set_options(Address& address, std::string_view query) {
    std::optional<Tls> tls;
    sql::url::for_each_option(query, [&](std::string_view name, const std::string& text) {
        if (name == "driver") {
            address.driver = text;
        } else if (name == "servername") {
            address.server_name = text;
        } else if (name == "ssl-mode") {
            tls = tls_of(text);
        } else {
            refuse("unknown option; known: driver, servername, ssl-mode");
        }
    });
    const bool here = base::is_loopback(address.host) && address.server_name.empty();
    if (tls == Tls::disabled && !here)
        refuse(
            "ssl-mode=disabled is for this machine only; another one is reached with verified TLS");
    address.tls = tls.value_or(here ? Tls::disabled : Tls::verified);
}

// A value that may hold any character.
std::string braced(std::string_view value) {
    std::string out = "{";
    for (const char c : value) out.append(c == '}' ? 2 : 1, c);
    return out + "}";
}

bool is_free(const std::string& driver) { return driver.find(free_driver) != std::string::npos; }

std::string trimmed(std::string_view text) {
    const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return std::string(text);
}

// Names of sections and settings are the same in any case.
std::string lowered(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

std::map<std::string, std::string> settings_of(const std::string& conf,
                                               const std::string& section) {
    std::map<std::string, std::string> out;
    std::istringstream lines(conf);
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        const std::string text = trimmed(line);
        if (text.empty() || text[0] == '#' || text[0] == ';') continue;
        if (text[0] == '[') {
            inside = lowered(trimmed(text.substr(1, text.find(']') - 1))) == lowered(section);
        } else if (const std::size_t equals = text.find('=');
                   inside && equals != std::string::npos) {
            out[lowered(trimmed(text.substr(0, equals)))] = trimmed(text.substr(equals + 1));
        }
    }
    return out;
}

std::string where_and_how(const Address& address, const std::string& driver,
                          const std::string& freetds_conf) {
    if (!is_free(driver)) {
        return fmt::format("SERVER=tcp:{},{};Encrypt={};TrustServerCertificate=no", address.host,
                           address.port, address.tls == Tls::verified ? "yes" : "no");
    }
    constexpr std::string_view version = "TDS_Version=7.4;ClientCharset=UTF-8";
    if (!address.server_name.empty() && section_verifies(freetds_conf, address.server_name))
        return fmt::format("SERVERNAME={};{}", address.server_name, version);
    if (address.tls == Tls::verified) {
        throw Error(
            ErrorKind::misuse,
            fmt::format(
                "{}: the driver FreeTDS would not verify the server. Install \"{}\", or put a "
                "section with `encryption = require` and `ca file` into freetds.conf and name "
                "it in the URL: ?servername=section",
                address.peer(), newest_driver));
    }
    return fmt::format("SERVER={};PORT={};{}", address.host, address.port, version);
}

}  // namespace

Address Address::parse(const std::string& url) {
    constexpr std::string_view scheme = "sqlserver://";
    std::string_view rest = url;
    if (!rest.starts_with(scheme)) refuse("does not begin with sqlserver://");
    rest.remove_prefix(scheme.size());
    const sql::url::Parts parts = sql::url::take_apart(rest);
    Address address;
    sql::url::set_account(address, parts, "sqlserver://user@host/database");
    if (parts.hosts.size() > 1) refuse("names several hosts; a colon stands between host and port");
    const sql::url::Host& host = parts.hosts.front();
    if (!host.name.empty()) address.host = host.name;
    address.port = host.port.value_or(address.port);
    set_options(address, parts.query);
    return address;
}

std::string Address::peer() const {
    if (!server_name.empty()) return fmt::format("sqlserver:{}/{}", server_name, database);
    return fmt::format("sqlserver://{}:{}/{}", host, port, database);
}

std::string driver_for(const Address& address, std::span<const std::string> installed) {
    const auto is_there = [&](std::string_view name) {
        return std::find(installed.begin(), installed.end(), name) != installed.end();
    };
    if (!address.driver.empty()) {
        if (is_there(address.driver)) return address.driver;
        throw Error(
            ErrorKind::unavailable,
            fmt::format("{}: the ODBC driver \"{}\" is not installed (odbcinst -q -d lists those "
                        "that are)",
                        address.peer(), address.driver));
    }
    for (const std::string_view name : {newest_driver, free_driver})
        if (is_there(name)) return std::string(name);
    throw Error(
        ErrorKind::unavailable,
        fmt::format("{}: no ODBC driver for SQL Server is installed; install \"{}\" or the package "
                    "tdsodbc",
                    address.peer(), newest_driver));
}

std::string connection_string(const Address& address, const std::string& driver,
                              const std::string& freetds_conf) {
    return fmt::format("DRIVER={};{};UID={};PWD={};DATABASE={};APP=postroom", braced(driver),
                       where_and_how(address, driver, freetds_conf), braced(address.user),
                       braced(address.password), braced(address.database));
}

bool section_verifies(const std::string& freetds_conf, const std::string& section) {
    std::map<std::string, std::string> settings = settings_of(freetds_conf, "global");
    for (const auto& [name, value] : settings_of(freetds_conf, section)) settings[name] = value;
    const std::string encryption = lowered(settings["encryption"]);
    const std::string names = lowered(settings["check certificate hostname"]);
    return (encryption == "require" || encryption == "strict") && !settings["ca file"].empty() &&
           names != "no" && names != "false" && names != "0";
}

}  // namespace postroom::sqlserver
