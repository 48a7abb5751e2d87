#include "support/sqlserver_server.hpp"

#include <sql.h>
#include <sqlext.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backends/sqlserver/address.hpp"
#include "postroom/open_store.hpp"

namespace postroom::test {

namespace {

SQLHENV test_environment() {
    static SQLHENV const only = [] {
        SQLHENV made = nullptr;
        SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &made);
        SQLSetEnvAttr(made, SQL_ATTR_ODBC_VERSION, reinterpret_cast<SQLPOINTER>(SQL_OV_ODBC3), 0);
        return made;
    }();
    return only;
}

[[noreturn]] void fail(SQLSMALLINT kind, SQLHANDLE handle) {
    std::array<SQLCHAR, 6> state{};
    std::array<SQLCHAR, 2048> words{};
    SQLINTEGER number = 0;
    SQLSMALLINT length = 0;
    SQLGetDiagRec(kind, handle, 1, state.data(), &number, words.data(), words.size(), &length);
    throw SqlError(reinterpret_cast<const char*>(words.data()),
                   reinterpret_cast<const char*>(state.data()));
}

std::optional<std::string> cell_of(SQLHSTMT statement, SQLUSMALLINT column) {
    std::string out;
    std::array<char, 4096> piece{};
    for (;;) {
        SQLLEN length = 0;
        const SQLRETURN done =
            SQLGetData(statement, column, SQL_C_CHAR, piece.data(), piece.size(), &length);
        if (done == SQL_NO_DATA) return out;
        if (!SQL_SUCCEEDED(done)) fail(SQL_HANDLE_STMT, statement);
        if (length == SQL_NULL_DATA) return std::nullopt;
        out += piece.data();
        if (done == SQL_SUCCESS) return out;
    }
}

// The URL with another database in it.
std::string url_of(const std::string& url, const std::string& database) {
    const std::size_t host = url.find("://") + 3;
    const std::size_t slash = url.find('/', host);
    const std::size_t query = url.find('?', host);
    return url.substr(0, slash) + "/" + database +
           (query == std::string::npos ? "" : url.substr(query));
}

}  // namespace

std::optional<std::string> sqlserver_url() {
    const char* const url = std::getenv("POSTROOM_TEST_SQLSERVER");
    if (url == nullptr || *url == '\0') return std::nullopt;
    return url;
}

void SqlServerSession::Close::operator()(void* connection) const {
    SQLEndTran(SQL_HANDLE_DBC, connection, SQL_ROLLBACK);
    SQLDisconnect(connection);
    SQLFreeHandle(SQL_HANDLE_DBC, connection);
}

SqlServerSession::SqlServerSession(const std::string& url) {
    const sqlserver::Address address = sqlserver::Address::parse(url);
    std::vector<std::string> drivers;
    std::array<SQLCHAR, 256> name{};
    std::array<SQLCHAR, 256> attributes{};
    SQLSMALLINT name_length = 0;
    SQLSMALLINT rest = 0;
    for (SQLUSMALLINT direction = SQL_FETCH_FIRST;
         SQL_SUCCEEDED(SQLDrivers(test_environment(), direction, name.data(), name.size(),
                                  &name_length, attributes.data(), attributes.size(), &rest));
         direction = SQL_FETCH_NEXT)
        drivers.emplace_back(reinterpret_cast<const char*>(name.data()));
    std::string text =
        sqlserver::connection_string(address, sqlserver::driver_for(address, drivers), "");
    SQLHDBC made = nullptr;
    SQLAllocHandle(SQL_HANDLE_DBC, test_environment(), &made);
    connection_.reset(made);
    if (!SQL_SUCCEEDED(SQLDriverConnect(made, nullptr, reinterpret_cast<SQLCHAR*>(text.data()),
                                        SQL_NTS, nullptr, 0, &rest, SQL_DRIVER_NOPROMPT)))
        fail(SQL_HANDLE_DBC, made);
}

SqlRows SqlServerSession::run_on(void* connection, const std::string& sql) {
    SQLHSTMT statement = nullptr;
    SQLAllocHandle(SQL_HANDLE_STMT, connection, &statement);
    const auto free = [](void* given) { SQLFreeHandle(SQL_HANDLE_STMT, given); };
    const std::unique_ptr<void, decltype(free)> owned(statement, free);
    std::string text = sql;
    SqlRows rows;
    SQLRETURN done = SQLExecDirect(statement, reinterpret_cast<SQLCHAR*>(text.data()), SQL_NTS);
    for (bool first = true; SQL_SUCCEEDED(done) || (first && done == SQL_NO_DATA); first = false) {
        SQLSMALLINT columns = 0;
        SQLNumResultCols(statement, &columns);
        if (columns > 0) rows.clear();
        while (columns > 0) {
            const SQLRETURN fetched = SQLFetch(statement);
            if (fetched == SQL_NO_DATA) break;
            if (!SQL_SUCCEEDED(fetched)) fail(SQL_HANDLE_STMT, statement);
            auto& cells = rows.emplace_back();
            for (SQLSMALLINT i = 1; i <= columns; ++i)
                cells.push_back(cell_of(statement, static_cast<SQLUSMALLINT>(i)));
        }
        done = SQLMoreResults(statement);
    }
    if (done != SQL_NO_DATA) fail(SQL_HANDLE_STMT, statement);
    return rows;
}

SqlServerDatabase::SqlServerDatabase()
    : name_(unique_database_name()), url_(url_of(sqlserver_url().value(), name_)) {
    SqlServerSession(*sqlserver_url()).run("CREATE DATABASE [" + name_ + "]");
}

// Connections that are still open would keep it.
SqlServerDatabase::~SqlServerDatabase() {
    try {
        SqlServerSession(*sqlserver_url()).run("DROP DATABASE [" + name_ + "]");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s stays behind: %s\n", name_.c_str(), error.what());
    }
}

namespace {

// Those that nobody uses at the moment. They are dropped at the end of the program.
std::vector<std::unique_ptr<SqlServerDatabase>>& spare_databases() {
    static std::vector<std::unique_ptr<SqlServerDatabase>> spare;
    return spare;
}

constexpr const char* empty_all =
    "DELETE FROM [infra].[outbox_message]; DELETE FROM [infra].[outbox_turn]; "
    "DELETE FROM [infra].[outbox_key]; DELETE FROM [infra].[outbox_paused]; "
    "DELETE FROM [infra].[outbox_worker]; DELETE FROM [infra].[outbox_audit]; "
    "DELETE FROM [infra].[outbox_home]; INSERT INTO [infra].[outbox_home] (number) VALUES (1); "
    "DELETE FROM [infra].[inbox_message]; DELETE FROM [infra].[inbox_turn]";

}  // namespace

SqlServerDeployed::SqlServerDeployed() {
    if (spare_databases().empty()) {
        database_ = std::make_unique<SqlServerDatabase>();
        open_schema(database_->url())->deploy();
    } else {
        database_ = std::move(spare_databases().back());
        spare_databases().pop_back();
        database_->sql(empty_all);
    }
}

SqlServerDeployed::~SqlServerDeployed() {
    if (!spoiled_) spare_databases().push_back(std::move(database_));
}

}  // namespace postroom::test
