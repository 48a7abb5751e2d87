#include "backends/sqlserver/link.hpp"

#include <sqlext.h>

#include <array>
#include <chrono>
#include <memory>
#include <string_view>

#include "base/utf16.hpp"

namespace postroom::sqlserver {

namespace {

struct FreeStatement {
    void operator()(void* statement) const { SQLFreeHandle(SQL_HANDLE_STMT, statement); }
};
using StatementHandle = std::unique_ptr<void, FreeStatement>;

StatementHandle new_statement(SQLHDBC connection, Duration answer_within) {
    SQLHSTMT statement = nullptr;
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, connection, &statement)))
        throw LinkError(diagnose(SQL_HANDLE_DBC, connection));
    StatementHandle out(statement);
    if (answer_within > Duration::zero()) {
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(answer_within).count();
        // NOLINTNEXTLINE(performance-no-int-to-ptr): as ODBC has it
        SQLSetStmtAttr(statement, SQL_ATTR_QUERY_TIMEOUT, reinterpret_cast<SQLPOINTER>(seconds), 0);
    }
    return out;
}

[[noreturn]] void fail(SQLHSTMT statement) {
    throw LinkError(diagnose(SQL_HANDLE_STMT, statement));
}

TextWay text_way(SQLHDBC connection, bool borrowed) {
    std::array<char, 64> driver{};
    SQLGetInfo(connection, SQL_DRIVER_NAME, driver.data(), driver.size(), nullptr);
    if (!std::string_view(driver.data()).starts_with("libtdsodbc")) return TextWay::wide;
    return borrowed ? TextWay::only_ucs2 : TextWay::utf8_beyond_ucs2;
}

void show_rows(SQLHSTMT statement, const Link::OnRow& on_row, bool as_text) {
    ResultRow row(statement, as_text);
    if (row.columns() == 0) return;
    while (row.fetch())
        if (on_row) on_row(row);
}

}  // namespace

Link::Link(SQLHDBC connection, Duration answer_within)
    : connection_(connection),
      answer_within_(answer_within),
      texts_(text_way(connection, answer_within == Duration::zero())) {}

void Link::run(const std::string& sql, Parameters& parameters, const OnRow& on_row,
               bool as_text) const {
    const StatementHandle owned = new_statement(connection_, answer_within_);
    SQLHSTMT const statement = owned.get();
    parameters.bind(statement, texts_);
    std::u16string text = base::to_utf16(parameters.text_for(sql));
    static_assert(sizeof(SQLWCHAR) == sizeof(char16_t));
    SQLRETURN done = SQLExecDirectW(statement, reinterpret_cast<SQLWCHAR*>(text.data()),
                                    static_cast<SQLINTEGER>(text.size()));
    // A batch that changed nothing has no data, which is no error, and what it does later may fail.
    while (SQL_SUCCEEDED(done) || done == SQL_NO_DATA) {
        if (SQL_SUCCEEDED(done)) show_rows(statement, on_row, as_text);
        done = SQLMoreResults(statement);
        if (done == SQL_NO_DATA) return;
    }
    fail(statement);
}

void Link::run(const std::string& sql) const {
    Parameters none;
    run(sql, none, {});
}

bool Link::dead() const {
    SQLINTEGER dead = SQL_CD_FALSE;
    const SQLRETURN done =
        SQLGetConnectAttr(connection_, SQL_ATTR_CONNECTION_DEAD, &dead, sizeof dead, nullptr);
    return !SQL_SUCCEEDED(done) || dead == SQL_CD_TRUE;
}

}  // namespace postroom::sqlserver
