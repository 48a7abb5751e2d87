#include "backends/mysql/session.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <new>
#include <string>

#include <fmt/format.h>

#include "backends/mysql/errors.hpp"
#include "base/connect_fault.hpp"

namespace postroom::mysql {

namespace {

// A server that has not answered so long after the statement's own limit never will.
constexpr Duration answer_slack = std::chrono::seconds{10};

// Who waits for a lock is told so, as a conflict, before the statement as a whole takes too long.
constexpr Duration lock_slack = std::chrono::seconds{1};

// MariaDB cuts JSON_ARRAYAGG at group_concat_max_len, in the middle of a number.
constexpr std::size_t number_list_bytes_max = 16 * 1024 * 1024;

// Several hosts share the time to connect, and none gets less.
constexpr Duration host_timeout_min = std::chrono::seconds{2};

// With these a machine that is gone without a word is given up after 10 s, and the next host is
// reached within 15 s.
constexpr int probe_after_seconds = 4;
constexpr int probe_every_seconds = 2;
constexpr int probes_max = 3;
constexpr unsigned unacknowledged_ms_max = 10'000;

unsigned whole_seconds(Duration duration) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(duration).count();
    return static_cast<unsigned>(std::clamp<std::int64_t>(seconds, 1, 1'000'000));
}

void set_number(MYSQL* connection, mysql_option option, unsigned value) {
    mysql_options(connection, option, &value);
}

void set_flag(MYSQL* connection, mysql_option option, bool value) {
    const my_bool flag = value ? 1 : 0;
    mysql_options(connection, option, &flag);
}

void set_file(MYSQL* connection, mysql_option option, const std::string& path) {
    if (!path.empty()) mysql_options(connection, option, path.c_str());
}

// Connector/C verifies nothing unless told so.
void set_tls(MYSQL* connection, const Address& address) {
    if (address.tls == Tls::disabled) return;
    set_flag(connection, MYSQL_OPT_SSL_ENFORCE, true);
    set_flag(connection, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, address.tls == Tls::verified);
    set_file(connection, MYSQL_OPT_SSL_CA, address.ca_file);
    set_file(connection, MYSQL_OPT_SSL_CERT, address.certificate_file);
    set_file(connection, MYSQL_OPT_SSL_KEY, address.key_file);
}

bool has_choice(const Address& address) { return address.hosts.size() > 1; }

Duration connect_timeout(const Address& address, const OpenOptions& options) {
    if (!has_choice(address)) return options.connect_timeout;
    return std::max(host_timeout_min,
                    options.connect_timeout / static_cast<std::int64_t>(address.hosts.size()));
}

void set_options(MYSQL* connection, const Address& address, const OpenOptions& options) {
    set_number(connection, MYSQL_OPT_CONNECT_TIMEOUT,
               whole_seconds(connect_timeout(address, options)));
    const unsigned patience = whole_seconds(options.statement_timeout + answer_slack);
    set_number(connection, MYSQL_OPT_READ_TIMEOUT, patience);
    set_number(connection, MYSQL_OPT_WRITE_TIMEOUT, patience);
    set_number(connection, MYSQL_OPT_PROTOCOL,
               address.socket.empty() ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET);
    mysql_options(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    // A server must not be able to ask for files of this machine.
    set_number(connection, MYSQL_OPT_LOCAL_INFILE, 0);
    set_tls(connection, address);
}

// Where nobody answers: the place, and why in the system's words.
Error connect_error(MYSQL* connection, const Address& address, const Host& host) {
    const unsigned code = mysql_errno(connection);
    const bool by_socket = !address.socket.empty();
    if (!is_unreached(code)) return error_of(connection);
    std::string reason = connect_reason(mysql_error(connection));
    if (reason.empty() && !by_socket) reason = base::connect_fault(host.name, host.port);
    const std::string place =
        by_socket ? address.socket : fmt::format("{}:{}", host.name, host.port);
    return make_error(code, reason.empty() ? fmt::format("connecting to {} failed", place)
                                           : fmt::format("connecting to {}: {}", place, reason));
}

void connect(MYSQL* connection, const Address& address, const Host& host) {
    const bool by_socket = !address.socket.empty();
    if (mysql_real_connect(connection, by_socket ? nullptr : host.name.c_str(),
                           address.user.c_str(), address.password.c_str(), address.database.c_str(),
                           by_socket ? 0 : host.port, by_socket ? address.socket.c_str() : nullptr,
                           0) == nullptr)
        throw connect_error(connection, address, host);
    if (address.tls != Tls::disabled && mysql_get_ssl_cipher(connection) == nullptr)
        throw Error(ErrorKind::unavailable,
                    "the server did not agree to TLS; turn it on there, or append "
                    "?ssl-mode=disabled to the "
                    "address if the network is trusted");
}

void watch_for_silence(MYSQL* connection) {
    const int socket = static_cast<int>(mysql_get_socket(connection));
    const auto set = [&](int level, int name, const auto& value) {
        ::setsockopt(socket, level, name, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef TCP_KEEPIDLE
    set(IPPROTO_TCP, TCP_KEEPIDLE, probe_after_seconds);
#endif
    set(IPPROTO_TCP, TCP_KEEPINTVL, probe_every_seconds);
    set(IPPROTO_TCP, TCP_KEEPCNT, probes_max);
#ifdef TCP_USER_TIMEOUT
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, unacknowledged_ms_max);
#endif
}

// The first value of a SELECT; empty: there was none.
std::string value_of(MYSQL* connection, const char* sql) {
    if (mysql_query(connection, sql) != 0) throw error_of(connection);
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(
        mysql_store_result(connection), &mysql_free_result);
    if (result == nullptr) throw error_of(connection);
    const MYSQL_ROW row = mysql_fetch_row(result.get());
    return row == nullptr || row[0] == nullptr ? "" : row[0];
}

// A replica is of no use to who claims and settles. Newer servers have words for the setting.
void require_writable(MYSQL* connection) {
    const std::string read_only = value_of(connection, "SELECT @@global.read_only");
    if (read_only != "0" && read_only != "OFF")
        throw Error(ErrorKind::unavailable, "the server is read-only");
}

std::string settings(const Capabilities& capabilities, const OpenOptions& options) {
    return fmt::format(
        "SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', "
        "autocommit = 1, group_concat_max_len = {}, innodb_lock_wait_timeout = {}, {}{}",
        number_list_bytes_max, whole_seconds(options.statement_timeout),
        capabilities.statement_limit(options.statement_timeout + lock_slack),
        // Else the size of a table is that of a day ago.
        capabilities.mariadb ? "" : ", information_schema_stats_expiry = 0");
}

}  // namespace

void simple(MYSQL* connection, const std::string& sql) {
    if (mysql_real_query(connection, sql.data(), sql.size()) != 0) throw error_of(connection);
    if (MYSQL_RES* const result = mysql_store_result(connection)) mysql_free_result(result);
}

std::size_t packet_max_of(MYSQL* connection) {
    const std::string digits = value_of(connection, "SELECT @@max_allowed_packet");
    std::size_t limit = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), limit);
    return limit;
}

namespace {

Session open_at(const Host& host, const Address& address, const OpenOptions& options) {
    Session session;
    session.connection.reset(mysql_init(nullptr));
    MYSQL* const connection = session.connection.get();
    if (connection == nullptr) throw std::bad_alloc();
    set_options(connection, address, options);
    connect(connection, address, host);
    if (has_choice(address)) {
        watch_for_silence(connection);
        require_writable(connection);
    }
    session.capabilities = Capabilities::of(connection);
    simple(connection, settings(session.capabilities, options));
    simple(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    session.packet_max = packet_max_of(connection);
    return session;
}

}  // namespace

Session open_session(const Address& address, const OpenOptions& options, HostOrder& order) {
    static std::once_flag initialized;
    std::call_once(initialized, [] { mysql_library_init(0, nullptr, nullptr); });
    if (!has_choice(address)) return open_at(address.hosts.front(), address, options);
    std::string reasons;
    for (const std::size_t place : order.at(std::chrono::steady_clock::now())) {
        const Host& host = address.hosts[place];
        try {
            Session session = open_at(host, address, options);
            order.served(place);
            return session;
        } catch (const Error& error) {
            const std::string reason = fmt::format("{}: {}", host.text(), error.what());
            if (error.kind() != ErrorKind::unavailable) throw Error(error.kind(), reason);
            order.failed(place, std::chrono::steady_clock::now());
            reasons += (reasons.empty() ? "" : "; ") + reason;
        }
    }
    throw Error(ErrorKind::unavailable,
                fmt::format("no host is there and takes writes: {}", reasons));
}

bool quiet(MYSQL* connection) {
    char byte = 0;
    const ssize_t got = ::recv(mysql_get_socket(connection), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

}  // namespace postroom::mysql
