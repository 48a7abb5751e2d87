#include "backends/mysql/errors.hpp"

#include <netdb.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace postroom::mysql {

namespace {

// Names for the numbers that decide something. Those of the client library begin at 2000.
enum Code : unsigned {
    disk_full = 1021,
    record_changed = 1020,
    too_many_connections = 1040,
    out_of_resources = 1041,
    bad_host = 1042,
    wsrep_not_ready = 1047,
    shutting_down = 1053,
    duplicate_entry = 1062,
    no_such_table_in_drop = 1051,
    table_full = 1114,
    host_blocked = 1129,
    no_such_table = 1146,
    aborted_connection = 1152,
    packet_too_large = 1153,
    network_read = 1158,
    network_write_timeout = 1161,
    locked_or_in_transaction = 1192,
    user_connections = 1203,
    lock_wait_timeout = 1205,
    lock_table_full = 1206,
    deadlock = 1213,
    user_resources = 1226,
    running_read_only = 1290,
    wrong_value = 1292,
    invalid_string = 1300,
    no_such_name = 1305,
    interrupted = 1317,
    wrong_string_value = 1366,
    illegal_value = 1367,
    wrong_value_for_function = 1411,
    wrong_value_of_type = 1525,
    cannot_change_characteristics = 1568,
    duplicate_entry_with_name = 1586,
    out_of_range = 1690,
    read_only_transaction = 1792,
    read_only_mode = 1836,
    overflow_in_cast = 1916,
    illegal_in_conversion = 1918,
    killed = 1927,
    statement_timeout = 1969,
    inconvertible_character = 1977,
    no_connection = 2002,
    no_connection_to_host = 2003,
    unknown_host = 2005,
    out_of_sync = 2014,
    tls_failed = 2026,
    rolled_back_at_commit = 3101,
    session_killed = 3169,
    no_wait = 3572,
    execution_time = 3024,
    inconvertible_string = 3854,
    inconvertible_text = 3988,
    idle_for_too_long = 4031,
    client_errors = 2000,
    client_errors_end = 3000,
};

std::string_view hint_for(unsigned code) {
    switch (code) {
        case no_such_table:
        case no_such_name:
            return "; is the schema deployed (deploy_schema)?";
        case tls_failed:
            return "; ssl-mode=verify is the default for another machine: append "
                   "?ssl-ca=FILE with the authority that signed the server's certificate, "
                   "?ssl-mode=required to encrypt without verifying, or ?ssl-mode=disabled if the "
                   "network is trusted";
        case packet_too_large:
            return "; raise max_allowed_packet of the server or send smaller payloads";
        case cannot_change_characteristics:
            return "; a claim must be a transaction of its own, or it would keep all others "
                   "waiting";
        default:
            return "";
    }
}

// Their texts quote the value that was refused, which may be a part of a payload.
bool quotes_values(unsigned code) {
    switch (code) {
        case duplicate_entry:
        case duplicate_entry_with_name:
        case wrong_value:
        case invalid_string:
        case wrong_string_value:
        case illegal_value:
        case wrong_value_for_function:
        case wrong_value_of_type:
        case out_of_range:
        case overflow_in_cast:
        case illegal_in_conversion:
        case inconvertible_character:
        case inconvertible_string:
        case inconvertible_text:
            return true;
        default:
            return false;
    }
}

std::string_view plain_words(unsigned code) {
    return code == duplicate_entry || code == duplicate_entry_with_name
               ? "duplicate entry for a unique key"
               : "invalid input value";
}

}  // namespace

ErrorKind kind_of(unsigned code) {
    switch (code) {
        case deadlock:
        case lock_wait_timeout:
        case lock_table_full:
        case record_changed:
        case rolled_back_at_commit:
        case no_wait:
            return ErrorKind::conflict;
        case disk_full:
        case table_full:
        case too_many_connections:
        case out_of_resources:
        case bad_host:
        case wsrep_not_ready:
        case shutting_down:
        case host_blocked:
        case aborted_connection:
        case network_read:
        case network_read + 1:
        case network_read + 2:
        case network_write_timeout:
        case user_connections:
        case user_resources:
        case running_read_only:
        case read_only_mode:
        case interrupted:
        case killed:
        case statement_timeout:
        case execution_time:
        case session_killed:
        case idle_for_too_long:
            return ErrorKind::unavailable;
        case locked_or_in_transaction:
        case cannot_change_characteristics:
        case read_only_transaction:
        case out_of_sync:
            return ErrorKind::misuse;
        default:
            return code >= client_errors && code < client_errors_end ? ErrorKind::unavailable
                                                                     : ErrorKind::rejected;
    }
}

bool is_unreached(unsigned code) {
    return code == no_connection || code == no_connection_to_host || code == unknown_host;
}

bool is_loss(unsigned code) {
    switch (code) {
        case shutting_down:
        case aborted_connection:
        case packet_too_large:
        case killed:
        case session_killed:
        case idle_for_too_long:
            return true;
        default:
            return code >= client_errors && code < client_errors_end && code != out_of_sync;
    }
}

bool is_refusal(unsigned code) {
    switch (code) {
        case disk_full:
        case table_full:
        case wsrep_not_ready:
        case user_resources:
        case running_read_only:
        case read_only_mode:
            return true;
        default:
            return false;
    }
}

bool is_missing_name(unsigned code) { return code == no_such_name; }

Error make_error(unsigned code, std::string_view words) {
    return {kind_of(code),
            fmt::format("{} (error {}){}", quotes_values(code) ? plain_words(code) : words, code,
                        hint_for(code))};
}

std::string connect_reason(std::string_view words) {
    const std::size_t begin = words.rfind(" (");
    int number = 0;
    if (begin != std::string_view::npos)
        std::from_chars(words.data() + begin + 2, words.data() + words.size(), number);
    // The client library tells how a connection began, and not how it ended.
    if (number == 0 || number == EINPROGRESS) return {};
    return number < 0 ? ::gai_strerror(number) : std::generic_category().message(number);
}

Error error_of(MYSQL* connection) {
    return make_error(mysql_errno(connection), mysql_error(connection));
}

Error error_of(MYSQL_STMT* statement) {
    return make_error(mysql_stmt_errno(statement), mysql_stmt_error(statement));
}

}  // namespace postroom::mysql
