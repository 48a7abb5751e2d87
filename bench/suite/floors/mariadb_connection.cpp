#include "suite/floors/mariadb_connection.hpp"

#include <mysql.h>

#include <charconv>
#include <stdexcept>
#include <string_view>

namespace bench {
namespace {

std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%' || i + 2 >= text.size()) {
            out += text[i];
            continue;
        }
        unsigned value = 0;
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
        out += static_cast<char>(value);
        i += 2;
    }
    return out;
}

struct Address {
    std::string user, password, host, database;
    unsigned port = 0;
};

// Our own server's URL: every part is there.
Address parsed(std::string_view url) {
    url.remove_prefix(url.find("://") + 3);
    const std::size_t at = url.rfind('@');
    const std::string_view account = url.substr(0, at);
    const std::string_view rest = url.substr(at + 1);
    const std::size_t colon = account.find(':');
    const std::size_t port = rest.find(':');
    const std::size_t slash = rest.find('/');
    if (at == std::string_view::npos || port == std::string_view::npos)
        throw std::runtime_error("not the URL of a server of ours: " + std::string(rest));
    Address out;
    out.user = decoded(account.substr(0, colon));
    if (colon != std::string_view::npos) out.password = decoded(account.substr(colon + 1));
    out.host = rest.substr(0, port);
    std::from_chars(rest.data() + port + 1, rest.data() + rest.size(), out.port);
    if (slash != std::string_view::npos)
        out.database = rest.substr(slash + 1, rest.find('?') - slash - 1);
    return out;
}

}  // namespace

void MariadbConnection::Closer::operator()(st_mysql* connection) const { mysql_close(connection); }

MariadbConnection::MariadbConnection(const std::string& url) : connection_(mysql_init(nullptr)) {
    const Address address = parsed(url);
    if (mysql_real_connect(connection_.get(), address.host.c_str(), address.user.c_str(),
                           address.password.c_str(),
                           address.database.empty() ? nullptr : address.database.c_str(),
                           address.port, nullptr, 0) == nullptr)
        give_up("connect");
    mysql_set_character_set(connection_.get(), "utf8mb4");
}

void MariadbConnection::give_up(const std::string& what) const {
    throw std::runtime_error(what.substr(0, 200) + ": " + mysql_error(connection_.get()));
}

std::size_t MariadbConnection::execute(const std::string& sql) {
    if (mysql_real_query(connection_.get(), sql.data(), sql.size()) != 0) give_up(sql);
    return static_cast<std::size_t>(mysql_affected_rows(connection_.get()));
}

std::vector<std::string> MariadbConnection::rows(const std::string& sql) {
    execute(sql);
    MYSQL_RES* const result = mysql_store_result(connection_.get());
    if (result == nullptr) give_up(sql);
    std::vector<std::string> values;
    while (char** const row = mysql_fetch_row(result)) values.emplace_back(row[0]);
    mysql_free_result(result);
    return values;
}

std::string MariadbConnection::quoted(const std::string& bytes) const {
    std::string out(bytes.size() * 2 + 1, '\0');
    out.resize(mysql_real_escape_string(connection_.get(), out.data(), bytes.data(), bytes.size()));
    return "_binary'" + out + "'";
}

void MariadbStatement::Closer::operator()(st_mysql_stmt* statement) const {
    mysql_stmt_close(statement);
}

MariadbStatement::MariadbStatement(MariadbConnection& connection, const std::string& sql)
    : sql_(sql), statement_(mysql_stmt_init(connection.native())) {
    if (mysql_stmt_prepare(statement_.get(), sql.data(), sql.size()) != 0) give_up();
}

void MariadbStatement::give_up() const {
    throw std::runtime_error(sql_ + ": " + mysql_stmt_error(statement_.get()));
}

void MariadbStatement::run(const std::vector<std::string>& parameters) {
    std::vector<MYSQL_BIND> bindings(parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        bindings[i].buffer_type = MYSQL_TYPE_BLOB;
        bindings[i].buffer = const_cast<char*>(parameters[i].data());
        bindings[i].buffer_length = parameters[i].size();
    }
    if (mysql_stmt_bind_param(statement_.get(), bindings.data()) != 0 ||
        mysql_stmt_execute(statement_.get()) != 0)
        give_up();
}

}  // namespace bench
