// SqlAccess: what a store over a SQL database offers to whoever works on tables that are not its
// own, or may not work on its own. Transactions come from Store::begin(); the words tell how the
// engine spells a statement.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/store.hpp"

namespace postroom {

// A column in the words of its engine: expressions, and values to compare it with or set it to.
struct SqlColumn {
    enum class Kind : std::uint8_t { text, bytes, number };

    Kind kind = Kind::text;
    std::string name{};          // quoted
    std::string hex{};           // of its bytes, or of its text in UTF-8; NULL stays NULL
    std::string byte_count{};    // of the same
    std::string microseconds{};  // of a time, since 1970
    std::string word{};          // of a text: what equals a quoted one
    std::string now{};
    std::string yes{};
    std::string no{};
};

// The parts of a query on one table. Where the last two stand is for the engine to say.
struct SqlSelect {
    enum class Lock : std::uint8_t {
        none,
        skip,  // the rows it yields; those that others have locked are left out
        wait,  // and these are waited for
    };

    std::string what{};
    std::string from{};
    std::string where{};
    std::string order{};     // empty: any
    std::uint32_t rows = 0;  // at most; 0: all
    Lock lock = Lock::none;
};

// Thread safety: immutable.
class SqlWords {
public:
    SqlWords() = default;
    SqlWords(const SqlWords&) = delete;
    SqlWords& operator=(const SqlWords&) = delete;
    virtual ~SqlWords() = default;

    // What stands before and behind a name.
    virtual std::string_view quotes() const = 0;
    // The placeholder of the parameter with this number; the first is 1.
    virtual std::string parameter(std::size_t number) const = 0;
    virtual std::string select(const SqlSelect& parts) const = 0;

    // One row with what the server calls itself, its version included. Without text: nobody knows.
    virtual SqlStatement version() const { return {}; }

    // Rows, none without such a table: its schema and its name, the same however they were spelled
    // here, and name and type of a column.
    virtual SqlStatement columns(const std::string& schema, const std::string& table) const = 0;
    // `name` is quoted, `type` as columns() yields it.
    virtual SqlColumn column(const std::string& name, const std::string& type) const = 0;
    // Every form in which `column` may hold what its hex yields as `bytes`.
    virtual std::vector<SqlValue> forms(const SqlColumn& column, const std::string& bytes) const;

    // Throws std::invalid_argument for a name that is empty or has a quote in it.
    std::string quoted(std::string_view name) const;
    // With its schema, unless that is empty.
    std::string quoted(const std::string& schema, const std::string& table) const;

protected:
    // select(), for engines that have LIMIT.
    static std::string select_by_limit(const SqlSelect& parts);
    // By what the name of the type has in it.
    static SqlColumn::Kind kind_of(std::string_view type,
                                   std::initializer_list<std::string_view> bytes,
                                   std::initializer_list<std::string_view> numbers);
};

// What a routine for other languages said of a message.
struct RoutineResult {
    WorkItemId id{};
    std::optional<bool> already_existed{};  // none: it does not tell
};

// Thread safety: all operations may be called concurrently.
class SqlAccess {
public:
    SqlAccess() = default;
    SqlAccess(const SqlAccess&) = delete;
    SqlAccess& operator=(const SqlAccess&) = delete;
    virtual ~SqlAccess() = default;

    virtual const SqlWords& words() const = 0;

    // Outside of any transaction: a query that takes its time keeps no writer waiting.
    virtual SqlRows read(const SqlStatement& query) = 0;

    // Stores `messages`, in one transaction, with the routine that a role may call which has no
    // right but to write: for programs of such a role. An id that is given serves as idempotency
    // key. nullopt: the database has no such roles, and nothing is stored.
    virtual std::optional<std::vector<RoutineResult>> enqueue_by_routine(
        std::span<const NewMessage> messages) = 0;
};

// nullptr for a store that has no such thing.
SqlAccess* sql_access_of(Store& store);

}  // namespace postroom
