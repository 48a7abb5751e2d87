#include "cli/error_catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/assert.hpp"

namespace postroom::cli {

namespace {

// Several causes end with `unavailable` or `failed`, as the database classifies them: an entry
// with texts is looked for among both.
bool may_end_with(const ErrorEntry& entry, ExitCode exit) {
    const auto of_database = [](ExitCode code) {
        return code == ExitCode::unavailable || code == ExitCode::failed;
    };
    return entry.exit == exit || (of_database(entry.exit) && of_database(exit));
}

bool has_one_of(std::string_view text, const ErrorTexts& parts) {
    return std::ranges::any_of(parts, [&](std::string_view part) {
        return !part.empty() && text.find(part) != std::string_view::npos;
    });
}

constexpr std::array entries{
    ErrorEntry{"tls", ExitCode::unavailable,
               ErrorTexts{"server does not support SSL", "certificate verify failed",
                          "root certificate file", "does not match host name", "TLS/SSL error"},
               "To other machines TLS is on and certificates are verified, unless the address says "
               "otherwise.",
               "The line names the option of the address. All of them: docs/guides/tls.md"},
    ErrorEntry{"login", ExitCode::unavailable,
               ErrorTexts{"password authentication failed", "Access denied", "Login failed",
                          "are database, user, password and rights right?"},
               "The database answers and refuses the user.",
               "Check database, user and password; special characters in an address are written as "
               "%XX. What a user needs: docs/guides/roles-and-grants.md"},
    ErrorEntry{"disk_full", ExitCode::unavailable,
               ErrorTexts{"database or disk is full", "No space left on device"},
               "There is no room for what is to be written.", "Free some; nothing is lost."},
    ErrorEntry{
        "locked", ExitCode::unavailable, ErrorTexts{"another connection kept the file locked"},
        "SQLite: another program had a transaction open for longer than the statement timeout.",
        "Shorten it, or raise stores.NAME.statement_timeout."},
    ErrorEntry{"delivery_held", ExitCode::unavailable, ErrorTexts{"delivery is held"},
               "The database was restored from a backup, or copied, and nobody has said whether "
               "what waits in it is to be delivered.",
               "postroom restore status, then decide: docs/guides/restoring-a-backup.md"},
    ErrorEntry{"packet_too_large", ExitCode::failed, ErrorTexts{"max_allowed_packet"},
               "MariaDB and MySQL take no packet of this size.",
               "Raise max_allowed_packet of the server, or send smaller payloads."},
    ErrorEntry{"pooler", ExitCode::failed, ErrorTexts{"behind a transaction pooler"},
               "PgBouncer in transaction mode is between the program and PostgreSQL.",
               "Set stores.NAME.pooled = true."},
    ErrorEntry{"argument", ExitCode::failed, ErrorTexts{"SQLSTATE 22023"},
               "A value breaks a limit of a SQL function.",
               "The line names the field and the limit."},
    ErrorEntry{"no_connection", ExitCode::unavailable,
               ErrorTexts{"Connection refused", "is the server running",
                          "could not translate host name", "Name or service not known",
                          "connecting to", "Couldn't connect to server", "Couldn't resolve host"},
               "Nobody answers at this address, or its name is unknown.",
               "Check host and port, and whether the server runs; then: postroom doctor"},
    ErrorEntry{"unavailable",
               ExitCode::unavailable,
               {},
               "A database cannot be reached or used now.",
               "Try again; if that does not help: postroom doctor"},
    ErrorEntry{
        "migrations_pending", ExitCode::schema, ErrorTexts{"pending; run 'postroom migrate up'"},
        "The program is newer than the tables.",
        "postroom migrate up, as the owner of the tables; before that: docs/guides/upgrading.md"},
    ErrorEntry{
        "schema",
        ExitCode::schema,
        {},
        "The tables are missing, this user may not see them, or they are not as this program "
        "needs them.",
        "postroom migrate up as their owner, or give a DBA the output of postroom migrate sql. "
        "For a user that only writes: docs/guides/roles-and-grants.md"},
    ErrorEntry{"usage",
               ExitCode::usage,
               {},
               "The command line is wrong; nothing was done.",
               "postroom help COMMAND"},
    ErrorEntry{
        "not_found",
        ExitCode::not_found,
        {},
        "There is no such message, store or file.",
        "postroom list --state all shows messages, postroom config show what is configured."},
    ErrorEntry{"config",
               ExitCode::config,
               {},
               "The config file or the environment is wrong; nothing was done.",
               "The line names file and line, or the variable; then: postroom config check"},
    ErrorEntry{"input",
               ExitCode::input,
               {},
               "What was read is malformed.",
               "The line names the line of the input; batches before it are stored."},
    ErrorEntry{"left",
               ExitCode::left,
               {},
               "relay --once could not deliver everything that was due, or restore discard met "
               "messages that are leased.",
               "postroom list shows what is left, postroom explain ID why; repeat restore "
               "discard."},
    ErrorEntry{"failed",
               ExitCode::failed,
               {},
               "The database refused something, a check of doctor is bad, or something unforeseen "
               "happened.",
               "Read the line; then: postroom doctor"},
};

}  // namespace

std::span<const ErrorEntry> error_catalogue() { return entries; }

const ErrorEntry* error_entry(std::string_view code) {
    const auto at = std::ranges::find(entries, code, &ErrorEntry::code);
    return at == entries.end() ? nullptr : &*at;
}

const ErrorEntry& entry_of(ExitCode exit, std::string_view text) {
    const auto at = std::ranges::find_if(entries, [&](const ErrorEntry& entry) {
        return entry.is_general() ? entry.exit == exit
                                  : may_end_with(entry, exit) && has_one_of(text, entry.texts);
    });
    POSTROOM_ASSERT(at != entries.end());
    return *at;
}

std::string with_way_to_entry(ExitCode exit, const std::string& text) {
    if (exit == ExitCode::usage) return text;
    return fmt::format("{} (postroom help errors {})", text, entry_of(exit, text).code);
}

}  // namespace postroom::cli
