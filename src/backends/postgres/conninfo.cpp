#include "backends/postgres/conninfo.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace postroom::postgres {

namespace {

struct FreeOptions {
    void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

bool is_here(const std::string& host) {
    return host.empty() || host.front() == '/' || host.front() == '@' || host == "localhost" ||
           host == "::1" || host.starts_with("127.");
}

std::int64_t whole_seconds(Duration duration) {
    return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

}  // namespace

Conninfo::Conninfo(const std::string& conninfo, const OpenOptions& options) {
    char* error = nullptr;
    const std::unique_ptr<PQconninfoOption, FreeOptions> parsed(
        PQconninfoParse(conninfo.c_str(), &error));
    PQfreemem(error);  // It quotes the string, which may hold a password.
    if (parsed == nullptr) {
        throw std::invalid_argument(
            "connection string: not understood; give a postgresql:// URL or keyword=value pairs");
    }
    for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
        if (option->val != nullptr) settings_[option->keyword] = option->val;
    }

    set_default("connect_timeout",
                std::to_string(std::max<std::int64_t>(2, whole_seconds(options.connect_timeout))));
    set_default("application_name", "postroom");
    settings_["client_encoding"] = "UTF8";
    set_default("keepalives_idle", "30");
    set_default("keepalives_interval", "10");
    set_default("keepalives_count", "3");
    set_default("tcp_user_timeout", "60000");
    // Where a service file is in charge, it may say otherwise too.
    if (leads_elsewhere() && !settings_.contains("service")) set_default("sslmode", "verify-full");
    if (!options.pooled) {
        // A pooler refuses these, and hands the server connection to others.
        settings_["options"] += fmt::format(
            " -c statement_timeout={} -c default_transaction_isolation=read\\ committed",
            std::chrono::ceil<std::chrono::milliseconds>(options.statement_timeout).count());
    }
}

Conninfo::Arrays Conninfo::arrays() const {
    Arrays out;
    for (const auto& [keyword, value] : settings_) {
        out.keywords.push_back(keyword.c_str());
        out.values.push_back(value.c_str());
    }
    out.keywords.push_back(nullptr);
    out.values.push_back(nullptr);
    return out;
}

void Conninfo::set_default(const std::string& keyword, const std::string& value) {
    if (keyword == "sslmode" && std::getenv("PGSSLMODE") != nullptr) return;
    if (keyword == "application_name" && std::getenv("PGAPPNAME") != nullptr) return;
    if (keyword == "connect_timeout" && std::getenv("PGCONNECT_TIMEOUT") != nullptr) return;
    settings_.try_emplace(keyword, value);
}

std::string Conninfo::value_or(const std::string& keyword, const char* variable,
                               const char* otherwise) const {
    if (const auto found = settings_.find(keyword);
        found != settings_.end() && !found->second.empty()) {
        return found->second;
    }
    const char* const value = std::getenv(variable);
    return value == nullptr ? otherwise : value;
}

bool Conninfo::leads_elsewhere() const {
    std::istringstream hosts(
        value_or("hostaddr", "PGHOSTADDR", value_or("host", "PGHOST", "").c_str()));
    std::string host;
    while (std::getline(hosts, host, ',')) {
        if (!is_here(host)) return true;
    }
    return false;
}

std::string Conninfo::peer() const {
    const std::string host =
        value_or("host", "PGHOST", value_or("hostaddr", "PGHOSTADDR", "local").c_str());
    const std::string port = value_or("port", "PGPORT", "5432");
    const std::string user = value_or("user", "PGUSER", "");
    const std::string database = value_or("dbname", "PGDATABASE", user.c_str());
    if (settings_.contains("service"))
        return fmt::format("postgresql:service={}", settings_.at("service"));
    return fmt::format("postgresql://{}:{}/{}", host, port, database);
}

}  // namespace postroom::postgres
