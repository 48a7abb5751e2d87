#include "support/postgres_server.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "support/attempt.hpp"

namespace postroom::test {
namespace {

constexpr std::chrono::seconds create_database_timeout(60);

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

// user@host:port of the server whose script is `name`.sh and whose files are in directory/name.
std::string read_authority(const std::filesystem::path& directory, const std::string& name) {
    const std::map<std::string, std::string> values = server_values(directory, name);
    return fmt::format("{}@{}:{}", values.at("user"), values.at("host"), values.at("port"));
}

// States of a busy server in which trying again helps: the template is in use by another CREATE
// DATABASE, all connections are taken, or the server is still starting.
bool is_transient(const std::string& sqlstate) {
    return sqlstate == "55006" || sqlstate == "53300" || sqlstate == "57P03";
}

SqlRows rows_of(const PGresult* result) {
    SqlRows rows;
    for (int row = 0; row < PQntuples(result); ++row) {
        auto& columns = rows.emplace_back();
        for (int column = 0; column < PQnfields(result); ++column) {
            if (PQgetisnull(result, row, column) != 0) {
                columns.emplace_back(std::nullopt);
            } else {
                columns.emplace_back(
                    std::string(PQgetvalue(result, row, column),
                                static_cast<std::size_t>(PQgetlength(result, row, column))));
            }
        }
    }
    return rows;
}

Connection connect(const std::string& url) {
    // The first entry's value is expanded because it is a URL; later entries override it.
    const std::array<const char*, 4> keywords{"dbname", "connect_timeout", "application_name",
                                              nullptr};
    const std::array<const char*, 4> values{url.c_str(), "10", "postroom-test", nullptr};
    Connection connection(PQconnectdbParams(keywords.data(), values.data(), 1), &PQfinish);
    if (PQstatus(connection.get()) != CONNECTION_OK) {
        const std::string text = PQerrorMessage(connection.get());
        // libpq keeps no SQLSTATE of a refused connection, so the full server is known by its text.
        const bool full = text.find("too many clients") != std::string::npos ||
                          text.find("remaining connection slots") != std::string::npos;
        throw SqlError("cannot connect to " + url + ": " + text, full ? "53300" : "");
    }
    return connection;
}

// Result by result, because PQexec() would report only the last of several: of a session that the
// server ends, that is the lost connection and not the reason.
SqlRows run(PGconn& connection, const std::string& sql) {
    if (PQsendQuery(&connection, sql.c_str()) != 1) {
        throw SqlError(PQerrorMessage(&connection), "");
    }
    SqlRows rows;
    std::optional<SqlError> error;
    while (const Result result{PQgetResult(&connection), &PQclear}) {
        const ExecStatusType status = PQresultStatus(result.get());
        if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
            rows = rows_of(result.get());
        } else if (!error) {
            const char* sqlstate = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
            error.emplace(fmt::format("{}in: {}", PQresultErrorMessage(result.get()), sql),
                          sqlstate == nullptr ? "" : sqlstate);
        }
    }
    if (error) throw *error;
    return rows;
}

// Of a thread, by address. A database that lives as long as the program is dropped when they are
// gone: what tells that is never destroyed.
struct Connections {
    ~Connections() { gone = true; }

    static thread_local bool gone;
    std::map<std::string, Connection> by_url{};
};
thread_local bool Connections::gone = false;

// A connection to the database postgres of each server, kept for all tests of this thread: there
// are some statements for each test, and a connection costs more than most of them.
SqlRows administer(const std::string& url, const std::string& sql) {
    if (Connections::gone) return run(*connect(url), sql);
    thread_local Connections of_thread;
    std::map<std::string, Connection>& connections = of_thread.by_url;
    const auto kept = connections.find(url);
    if (kept != connections.end() && PQstatus(kept->second.get()) == CONNECTION_OK) {
        try {
            return run(*kept->second, sql);
        } catch (const SqlError&) {
            // A server that was restarted is only noticed now.
            if (PQstatus(kept->second.get()) == CONNECTION_OK) throw;
        }
    }
    const Connection& fresh = connections.insert_or_assign(url, connect(url)).first->second;
    PQsetNoticeReceiver(
        fresh.get(), [](void*, const PGresult*) {}, nullptr);
    return run(*fresh, sql);
}

}  // namespace

SqlRows psql(const std::string& url, const std::string& sql) {
    const Connection connection = connect(url);
    return run(*connection, sql);
}

PostgresServer::PostgresServer() : PostgresServer(servers_directory()) {}

PostgresServer::PostgresServer(std::filesystem::path directory)
    : directory_(std::move(directory)), authority_(read_authority(directory_, "postgres")) {}

std::string PostgresServer::url(const std::string& database) const {
    return fmt::format("postgresql://{}/{}", authority_, database);
}

std::string PostgresServer::via_pgbouncer_url(const std::string& database) const {
    return fmt::format("postgresql://{}/{}", read_authority(directory_, "pgbouncer"), database);
}

std::string PostgresServer::create_database(const std::string& original) const {
    const auto deadline = std::chrono::steady_clock::now() + create_database_timeout;
    const std::string name = unique_database_name();
    for (;;) {
        try {
            // Neither template0 nor original() admits connections, so none can be in the way. Its
            // files are copied as they are, which is half the price of logging every page.
            administer(url("postgres"),
                       "CREATE DATABASE " + name + " TEMPLATE " + original + " STRATEGY file_copy");
            return url(name);
        } catch (const SqlError& error) {
            if (!is_transient(error.sqlstate()) || std::chrono::steady_clock::now() > deadline)
                throw;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    }
}

std::string PostgresServer::original(
    const std::string& content, const std::function<void(const std::string& url)>& prepare) const {
    const std::string name =
        fmt::format("postroom_original_{:016x}", std::hash<std::string>{}(content));
    const std::string exists = "SELECT 1 FROM pg_database WHERE datname = '" + name + "'";
    if (!administer(url("postgres"), exists).empty()) return name;
    const std::string draft_url = create_database();
    const std::string draft = draft_url.substr(draft_url.rfind('/') + 1);
    prepare(draft_url);
    const auto deadline = std::chrono::steady_clock::now() + create_database_timeout;
    for (;;) {
        try {
            administer(url("postgres"), "ALTER DATABASE " + draft + " ALLOW_CONNECTIONS false");
            administer(url("postgres"), "ALTER DATABASE " + draft + " RENAME TO " + name);
            return name;
        } catch (const SqlError& error) {
            // A connection of prepare() that the server has not ended yet is in the way.
            const bool again =
                is_transient(error.sqlstate()) && std::chrono::steady_clock::now() < deadline;
            if (!administer(url("postgres"), exists).empty()) {  // another test was faster
                drop_database(draft);
                return name;
            }
            if (!again) {
                drop_database(draft);
                throw;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    }
}

void PostgresServer::drop_database(const std::string& name) const {
    // Dropping would end its sessions too, but looks after them only ten times a second. Most are
    // about to go by themselves; those of a pooler are not.
    const std::string sessions = " FROM pg_stat_activity WHERE datname = '" + name + "'";
    for (int round = 0; round < 20; ++round) {
        const char* const what = round == 2 ? "SELECT pg_terminate_backend(pid)" : "SELECT pid";
        if (administer(url("postgres"), what + sessions).empty()) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    administer(url("postgres"), "DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
}

PostgresDatabase::PostgresDatabase(PostgresServer server, const std::string& original)
    : server_(std::move(server)),
      url_(server_.create_database(original)),
      name_(url_.substr(url_.rfind('/') + 1)) {}

PostgresDatabase::~PostgresDatabase() {
    // A database that stays behind harms no other test, and its server may be gone on purpose.
    attempt("database " + name_ + " not dropped", [this] { server_.drop_database(name_); });
}

}  // namespace postroom::test
