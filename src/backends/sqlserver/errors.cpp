#include "backends/sqlserver/errors.hpp"

#include <sqlext.h>

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/utf16.hpp"

namespace postroom::sqlserver {

namespace {

// Names for the numbers that decide something. Those that our own procedures throw begin at 51000.
enum Number : std::int32_t {
    invalid_object = 208,
    conversion_of_text = 241,
    conversion_of_value = 245,
    truncated = 8152,
    truncated_value = 2628,
    wrong_type = 8114,
    duplicate_in_index = 2601,
    duplicate_key = 2627,
    no_such_procedure = 2812,
    bad_json = 13609,
    nested_claim = 51000,
    refused_argument = 51022,
    lock_not_granted = 51222,
    driver_errors = 20000,  // of FreeTDS
    driver_errors_end = 21000,
};

// Deadlock victim, lock timeout, snapshot conflicts, and those of memory-optimized tables.
constexpr std::array conflicts{1205,  1222,  3960,  3961,  3964,  3966,
                               41301, 41302, 41305, 41325, 41839, 51222};

// Out of memory, disk or log; a database that is not to be had at the moment, or is read-only; a
// session that was killed; what Azure SQL says of a fail-over or a limit.
constexpr std::array unavailables{
    64,    121,   233,   596,   701,   802,   844,   845,   926,   945,   978,   983,
    1101,  1104,  1105,  1132,  3906,  3908,  4060,  4221,  5069,  6005,  8628,  8645,
    8651,  9001,  9002,  10053, 10054, 10060, 10061, 10928, 10929, 11001, 17142, 17143,
    17197, 17809, 18401, 40143, 40197, 40501, 40540, 40544, 40549, 40550, 40551, 40552,
    40553, 40613, 40615, 42108, 42109, 49918, 49919, 49920};

// Of those, after which the session is gone.
constexpr std::array losses{64,    121,   233,   596,   6005,  10053, 10054,
                            10060, 10061, 17142, 17143, 40197, 40613};

template <class Numbers>
bool has(const Numbers& numbers, std::int32_t number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

bool is_of_connection(std::string_view state) {
    return state.starts_with("08") || state == "HYT00" || state == "HYT01" || state == "01002";
}

std::string_view hint_for(std::int32_t number) {
    return number == invalid_object || number == no_such_procedure
               ? "; is the schema deployed (deploy_schema)?"
               : "";
}

std::string_view plain_words(std::int32_t number) {
    switch (number) {
        case duplicate_in_index:
        case duplicate_key:
            return "duplicate entry for a unique key";
        case truncated:
        case truncated_value:
            return "a value is too long for its column";
        case conversion_of_text:
        case conversion_of_value:
        case wrong_type:
        case bad_json:
            return "invalid input value";
        default:
            return {};
    }
}

// "[Microsoft][ODBC Driver 18 for SQL Server][SQL Server]words": who speaks is of no interest.
std::string_view without_speakers(std::string_view words) {
    while (words.starts_with('[')) {
        const std::size_t close = words.find(']');
        if (close == std::string_view::npos) break;
        words.remove_prefix(close + 1);
    }
    return words;
}

Diagnosis record_of(SQLSMALLINT kind, SQLHANDLE handle, SQLSMALLINT record) {
    std::array<SQLWCHAR, 6> state{};
    SQLINTEGER number = 0;
    std::vector<SQLWCHAR> words(2048);
    SQLSMALLINT length = 0;
    if (!SQL_SUCCEEDED(SQLGetDiagRecW(kind, handle, record, state.data(), &number, words.data(),
                                      static_cast<SQLSMALLINT>(words.size()), &length)))
        return {};
    const auto count = std::min<std::ptrdiff_t>(length, std::ssize(words) - 1);
    const std::string text = base::to_utf8(std::u16string(words.begin(), words.begin() + count));
    return {.state = base::to_utf8(std::u16string(state.begin(), state.begin() + 5)),
            .number = number,
            .words = std::string(without_speakers(text))};
}

}  // namespace

// A server may say more than one thing; what tells most about the caller's choices comes first.
Diagnosis diagnose(SQLSMALLINT kind, SQLHANDLE handle) {
    Diagnosis found;
    for (SQLSMALLINT record = 1; record <= 8; ++record) {
        Diagnosis next = record_of(kind, handle, record);
        if (next.state.empty()) break;
        const bool decides = kind_of(next.state, next.number) != ErrorKind::rejected;
        if (found.state.empty() || decides) found = std::move(next);
        if (decides) break;
    }
    if (found.state.empty()) return {.state = "HY000", .number = 0, .words = "no diagnosis"};
    return found;
}

ErrorKind kind_of(std::string_view state, std::int32_t number) {
    if (has(conflicts, number)) return ErrorKind::conflict;
    if (number == nested_claim) return ErrorKind::misuse;
    if (is_of_connection(state) || has(unavailables, number) ||
        (number >= driver_errors && number < driver_errors_end))
        return ErrorKind::unavailable;
    return state == "40001" ? ErrorKind::conflict : ErrorKind::rejected;
}

bool is_loss(std::string_view state, std::int32_t number) {
    return is_of_connection(state) || has(losses, number) ||
           (number >= driver_errors && number < driver_errors_end);
}

Error make_error(const Diagnosis& diagnosis) {
    const std::string_view plain = plain_words(diagnosis.number);
    return {kind_of(diagnosis.state, diagnosis.number),
            fmt::format("{} (error {}){}", plain.empty() ? diagnosis.words : plain,
                        diagnosis.number, hint_for(diagnosis.number))};
}

}  // namespace postroom::sqlserver
