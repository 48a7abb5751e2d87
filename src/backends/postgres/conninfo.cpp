#include "backends/postgres/conninfo.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "base/loopback.hpp"

namespace postroom::postgres {

namespace {

struct FreeOptions {
    void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

bool is_here(const std::string& host) {
    return host.empty() || host.front() == '/' || host.front() == '@' || base::is_loopback(host);
}

std::vector<std::string> parts_of(const std::string& list) {
    std::vector<std::string> parts;
    std::istringstream text(list);
    for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
    if (parts.empty()) parts.emplace_back();
    return parts;
}

// As a URL has them: each host with its port. There may be one port for all.
std::string authority(const std::string& hosts, const std::string& ports) {
    const std::vector<std::string> port_of = parts_of(ports);
    std::string out;
    std::size_t i = 0;
    for (const std::string& host : parts_of(hosts)) {
        const std::string& port = port_of[std::min(i++, port_of.size() - 1)];
        out += fmt::format("{}{}:{}", out.empty() ? "" : ",", host, port.empty() ? "5432" : port);
    }
    return out;
}

std::int64_t whole_seconds(Duration duration) {
    return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

}  // namespace

Conninfo::Conninfo(const std::string& conninfo, const OpenOptions& options) {
    // libpq takes a text up to its first NUL.
    if (conninfo.find('\0') != std::string::npos)
        throw std::invalid_argument("connection string: contains a NUL byte");
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

    // libpq counts it for each host by itself.
    const auto hosts = static_cast<std::int64_t>(hosts_of().size());
    set_default("connect_timeout", std::to_string(std::max<std::int64_t>(
                                       2, whole_seconds(options.connect_timeout) / hosts)));
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

std::vector<std::string> Conninfo::hosts_of() const {
    return parts_of(value_or("hostaddr", "PGHOSTADDR", value_or("host", "PGHOST", "").c_str()));
}

Conninfo Conninfo::for_host(const Server& server, std::chrono::seconds connect_timeout) const {
    Conninfo out = *this;
    out.settings_["host"] = server.host;
    out.settings_["hostaddr"] = server.address;
    out.settings_["port"] = server.port;
    out.settings_["connect_timeout"] = std::to_string(connect_timeout.count());
    out.settings_.erase("target_session_attrs");
    return out;
}

bool Conninfo::leads_elsewhere() const {
    const std::vector<std::string> hosts = hosts_of();
    return !std::all_of(hosts.begin(), hosts.end(), is_here);
}

std::string Conninfo::peer() const {
    const std::string host =
        value_or("host", "PGHOST", value_or("hostaddr", "PGHOSTADDR", "local").c_str());
    const std::string port = value_or("port", "PGPORT", "5432");
    const std::string user = value_or("user", "PGUSER", "");
    const std::string database = value_or("dbname", "PGDATABASE", user.c_str());
    if (settings_.contains("service"))
        return fmt::format("postgresql:service={}", settings_.at("service"));
    return fmt::format("postgresql://{}/{}", authority(host, port), database);
}

}  // namespace postroom::postgres
