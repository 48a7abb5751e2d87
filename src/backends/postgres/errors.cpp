#include "backends/postgres/errors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace postroom::postgres {

namespace {

std::string_view field(const PGresult& result, int code) {
    const char* const text = PQresultErrorField(&result, code);
    return text == nullptr ? std::string_view{} : std::string_view{text};
}

std::string_view hint_for(std::string_view sqlstate) {
    if (sqlstate == "42P01" || sqlstate == "3F000" || sqlstate == "42883") {
        return "; is the schema deployed (deploy_schema)?";
    }
    if (sqlstate == "26000" || sqlstate == "42P05") {
        return "; behind a transaction pooler open the store with pooled = true";
    }
    return {};
}

// Their texts quote the value that was refused.
bool quotes_values(std::string_view sqlstate) {
    return sqlstate == "22P02" || sqlstate == "22007" || sqlstate == "22008";
}

// Without libpq's question whether the server is running, which it asks on a line of its own:
// whoever shows the error knows better what to ask.
std::string in_one_line(std::string_view lines) {
    std::string out;
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        std::string_view line = lines.substr(0, end);
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        lines.remove_prefix(std::min(end + 1, lines.size()));
        if (line.empty() || line.starts_with("Is the server running")) continue;
        out += (out.empty() ? "" : " ") +
               std::string(line.substr(0, line.find_last_not_of(" \t") + 1));
    }
    return out;
}

// libpq names what is wrong with TLS, but not what one can do about it.
std::string_view tls_hint(std::string_view words) {
    if (words.find("server does not support SSL") != std::string_view::npos)
        return "; sslmode asks for TLS, and for another machine it is verify-full unless the "
               "address says otherwise: turn on ssl in the server, or append ?sslmode=disable if "
               "the network is trusted";
    if (words.find("root certificate file") != std::string_view::npos ||
        words.find("certificate verify failed") != std::string_view::npos)
        return "; sslmode=verify-full needs the authority that signed the server's certificate: "
               "append ?sslrootcert=FILE, or ?sslrootcert=system with libpq 16";
    if (words.find("does not match host name") != std::string_view::npos)
        return "; sslmode=verify-full compares the host in the address with the server's "
               "certificate: use the name that stands there, or append ?sslmode=verify-ca";
    return "";
}

}  // namespace

ErrorKind kind_of(std::string_view sqlstate) {
    const std::string_view cls = sqlstate.substr(0, 2);
    if (sqlstate == "40001" || sqlstate == "40P01" || sqlstate == "55P03")
        return ErrorKind::conflict;
    if (sqlstate == "40003") return ErrorKind::outcome_unknown;
    // Connection lost, server going down or starting, out of resources, cancelled or timed out, a
    // standby.
    if (sqlstate.empty() || cls == "08" || cls == "53" || cls == "57" || sqlstate == "25006") {
        return ErrorKind::unavailable;
    }
    if (cls == "25") return ErrorKind::misuse;
    return ErrorKind::rejected;
}

std::string_view sqlstate_of(const PGresult* result) {
    return result == nullptr ? std::string_view{} : field(*result, PG_DIAG_SQLSTATE);
}

std::string describe(const PGresult& result) {
    const std::string_view sqlstate = field(result, PG_DIAG_SQLSTATE);
    const std::string_view words =
        quotes_values(sqlstate) ? "invalid input value" : field(result, PG_DIAG_MESSAGE_PRIMARY);
    return fmt::format("{} (SQLSTATE {}){}", words, sqlstate, hint_for(sqlstate));
}

Error server_error(const PGresult& result) {
    return {kind_of(field(result, PG_DIAG_SQLSTATE)), describe(result)};
}

Error broken_connection(const PGconn& connection, ErrorKind kind) {
    std::string words = in_one_line(PQerrorMessage(&connection));
    if (words.empty()) words = "the connection was closed";
    words += tls_hint(words);
    if (kind == ErrorKind::outcome_unknown) words = "connection lost while committing: " + words;
    return {kind, words};
}

}  // namespace postroom::postgres
