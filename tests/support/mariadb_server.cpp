#include "support/mariadb_server.hpp"

#include <fmt/format.h>
#include <mysql.h>

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "support/attempt.hpp"

namespace postroom::test {
namespace {

using Connection = std::unique_ptr<MYSQL, decltype(&mysql_close)>;
using Result = std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)>;

// Everything but letters and digits, so that nothing in it can be taken for a part of the URL.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '_' || c == '.';
        out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

// The part of `rest` up to `end`, or all of it; both are taken off.
std::string cut(std::string_view& rest, std::string_view end) {
    const std::size_t at = rest.find(end);
    const std::string_view part = rest.substr(0, at);
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + end.size());
    return unescaped(part);
}

// Of the URLs that MariadbServer makes, which say everything: user:password@host:port/database
// and at most one option, ssl-ca.
struct Address {
    explicit Address(std::string_view url) {
        cut(url, "://");
        user = cut(url, ":");
        password = cut(url, "@");
        host = cut(url, ":");
        port = static_cast<unsigned>(std::stoul(cut(url, "/")));
        database = cut(url, "?");
        cut(url, "ssl-ca=");
        authority = unescaped(url);
    }

    std::string user;
    std::string password;
    std::string host;
    unsigned port = 0;
    std::string database;
    std::string authority;  // the file of the certificate that signed the server's
};

[[noreturn]] void fail(MYSQL* connection, const std::string& doing) {
    throw MariadbError(fmt::format("{}: {}", doing, mysql_error(connection)),
                       mysql_sqlstate(connection), mysql_errno(connection));
}

Connection connect(const Address& address) {
    Connection connection(mysql_init(nullptr), &mysql_close);
    const unsigned timeout_seconds = 10;
    mysql_options(connection.get(), MYSQL_OPT_CONNECT_TIMEOUT, &timeout_seconds);
    mysql_options(connection.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (!address.authority.empty()) {
        mysql_options(connection.get(), MYSQL_OPT_SSL_CA, address.authority.c_str());
    }
    if (mysql_real_connect(connection.get(), address.host.c_str(), address.user.c_str(),
                           address.password.c_str(), address.database.c_str(), address.port,
                           nullptr, CLIENT_MULTI_STATEMENTS) == nullptr) {
        fail(connection.get(), fmt::format("cannot connect to port {}", address.port));
    }
    return connection;
}

SqlRows rows_of(MYSQL_RES* result) {
    SqlRows rows;
    while (const MYSQL_ROW cells = mysql_fetch_row(result)) {
        const unsigned long* lengths = mysql_fetch_lengths(result);
        auto& row = rows.emplace_back();
        for (unsigned i = 0; i < mysql_num_fields(result); ++i) {
            if (cells[i] == nullptr) {
                row.emplace_back(std::nullopt);
            } else {
                row.emplace_back(std::string(cells[i], lengths[i]));
            }
        }
    }
    return rows;
}

}  // namespace

SqlRows mariadb_sql(const std::string& url, const std::string& sql) {
    const Connection connection = connect(Address(url));
    SqlRows rows;
    int status = mysql_real_query(connection.get(), sql.data(), sql.size());
    while (status == 0) {
        const Result result(mysql_store_result(connection.get()), &mysql_free_result);
        if (result != nullptr) {
            rows = rows_of(result.get());
        } else if (mysql_field_count(connection.get()) != 0) {
            fail(connection.get(), "in: " + sql);
        }
        status = mysql_next_result(connection.get());
    }
    // -1 says that there are no more results; anything above is an error.
    if (status > 0) fail(connection.get(), "in: " + sql);
    return rows;
}

MariadbServer::MariadbServer(const std::filesystem::path& directory, const std::string& name) {
    const std::map<std::string, std::string> values = server_values(directory, name);
    account_ = fmt::format("{}:{}", escaped(values.at("user")), escaped(values.at("password")));
    address_ = fmt::format("{}:{}", values.at("host"), values.at("port"));
    if (values.contains("ssl_ca")) query_ = "?ssl-ca=" + escaped(values.at("ssl_ca"));
}

std::string MariadbServer::url(const std::string& database) const {
    return fmt::format("mysql://{}@{}/{}{}", account_, address_, database, query_);
}

std::string MariadbServer::root_url() const {
    return fmt::format("mysql://root:@{}/{}", address_, query_);
}

std::string MariadbServer::create_database() const {
    const std::string name = unique_database_name();
    mariadb_sql(root_url(), "CREATE DATABASE " + name);
    return name;
}

void MariadbServer::drop_database(const std::string& name) const {
    // Dropping waits for transactions that have used a table of it, however long they stay open.
    const SqlRows users = mariadb_sql(
        root_url(), "SELECT id FROM information_schema.processlist WHERE db = '" + name + "'");
    for (const auto& row : users) {
        try {
            mariadb_sql(root_url(), "KILL CONNECTION " + row.at(0).value());
        } catch (const MariadbError& error) {
            constexpr unsigned no_such_thread = 1094;
            if (error.code() != no_such_thread) throw;
        }
    }
    mariadb_sql(root_url(), "DROP DATABASE IF EXISTS " + name);
}

MariadbDatabase::MariadbDatabase(MariadbServer server)
    : server_(std::move(server)), name_(server_.create_database()), url_(server_.url(name_)) {}

MariadbDatabase::~MariadbDatabase() {
    // A database that stays behind harms no other test, and its server may be gone on purpose.
    attempt("database " + name_ + " not dropped", [this] { server_.drop_database(name_); });
}

}  // namespace postroom::test
