// TableSql: the statements that read and mark one classic table, in the words of its database.
//
// Rows are known by the hex of their id, in which no engine's conversion comes in between.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "adoption/classic_table.hpp"
#include "queue/sql_access.hpp"

namespace postroom::adoption {

using Ids = std::vector<std::string>;
// What a row has of the message, by field. What is NULL is not there.
using Row = std::map<std::string, std::string, std::less<>>;

class TableSql {
public:
    // `catalog`: the rows of SqlWords::columns(). Throws std::invalid_argument when a column is
    // missing that `table` names.
    TableSql(const SqlWords& words, ClassicTable table, const SqlRows& catalog);

    const ClassicTable& table() const { return table_; }

    // Conditions. The database's clock tells which locks are over. The first throws
    // std::invalid_argument when the values of the status cannot tell what waits: they are missing,
    // contradict each other or are of another kind than the column.
    std::string waiting(Instant now, bool with_dead) const;
    std::string dead() const;
    std::string keyless() const;  // has an id, but no idempotency key

    SqlStatement count(const std::string& where) const;
    SqlStatement oldest(const std::string& where, std::uint32_t rows) const;  // ids
    SqlStatement locked(const std::string& where, std::uint32_t rows) const;  // ids
    // Of the rows with these ids, which are more than the ids where those are not unique: id, bytes
    // of the payload.
    SqlStatement sizes(const Ids& ids, const std::string& where = "1 = 1") const;
    // Locks those of `ids` that meet the condition; row_of() reads them.
    SqlStatement locked_rows(const Ids& ids, const std::string& where) const;
    SqlStatement finish(const Ids& ids, const std::string& where, bool remove) const;
    SqlStatement set_key(const std::string& id, const std::string& key) const;

    Row row_of(const SqlRows::value_type& cells) const;
    // The text that `hex` stands for; bytes that are a UUID become one.
    std::string text_of(std::string_view field, const std::string& hex) const;
    // What a row's key follows from: the table however it was spelled, and the row's id.
    std::string key_of(std::string_view id) const;

private:
    bool has(std::string_view field) const { return table_.has(field); }
    const SqlColumn& column(std::string_view field) const;
    void require_states() const;
    std::string status_literal(const std::string& value) const;
    std::string status_in(const std::vector<std::string>& values) const;
    std::string not_delivered() const;
    std::string given_up() const;
    std::string marks() const;
    // `where` for these rows alone, whose ids `out` gets for parameters.
    std::string among(const Ids& ids, const std::string& where, SqlStatement& out) const;

    const SqlWords& words_;
    const ClassicTable table_;
    std::string from_;
    std::string schema_;
    std::string name_;
    std::map<std::string, SqlColumn> columns_;  // by field
    std::vector<Field> read_;                   // what locked_rows() yields
};

// "a.b" as its schema (empty: none) and its name.
std::pair<std::string, std::string> split_name(const std::string& name);

}  // namespace postroom::adoption
