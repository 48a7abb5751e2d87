// Conninfo: a connection string with our defaults added.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "postroom/open_store.hpp"

namespace postroom::postgres {

class Conninfo {
public:
    // Throws std::invalid_argument for a string that libpq cannot parse; its text repeats nothing
    // of the string.
    Conninfo(const std::string& conninfo, const OpenOptions& options);

    const std::map<std::string, std::string>& settings() const { return settings_; }

    // The settings as PQconnectdbParams and PQconnectStartParams take them: with a null at the end.
    // The pointers are good as long as the Conninfo is.
    struct Arrays {
        std::vector<const char*> keywords;
        std::vector<const char*> values;
    };
    Arrays arrays() const;

    // These settings for one of the servers they name.
    struct Server {
        std::string host;
        std::string address;  // empty: to be looked up
        std::string port;
    };
    Conninfo for_host(const Server& server, std::chrono::seconds connect_timeout) const;

    // postgresql://host:port/database, without user and password; several hosts with commas between
    // them.
    std::string peer() const;

private:
    void set_default(const std::string& keyword, const std::string& value);
    std::string value_or(const std::string& keyword, const char* variable,
                         const char* otherwise) const;
    std::vector<std::string> hosts_of() const;
    bool leads_elsewhere() const;

    std::map<std::string, std::string> settings_;
};

}  // namespace postroom::postgres
