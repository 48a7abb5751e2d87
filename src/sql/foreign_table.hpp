// ForeignTexts, ForeignSql: the SQL that reads and marks a table which is not ours.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/table_adoption.hpp"
#include "sql/statement.hpp"

namespace postroom::sql {

// What differs between engines, for tables of any shape. {} is a column's quoted name.
struct ForeignTexts {
    char quote = '"';
    // :table and :schema (may be empty), or :name (both, quoted). Rows: name, type.
    std::string columns{};
    // The same; one row of two texts by which a table is the same however it was spelled: its
    // schema and its name.
    std::string identity{};
    std::string micros{};      // of a time: microseconds since 1970
    std::string text_bytes{};  // of anything with a text: that, as hex of UTF-8
    std::string blob_bytes{};  // of bytes, as hex
    std::string is_false{};    // NULL counts as false
    std::string text_size{};   // in bytes, as text_bytes has them
    std::string blob_size{};
    std::string word{};          // of a status that is no number: what equals a quoted word
    std::string lock{};          // behind a SELECT: locks its rows, passes over locked ones
    std::string lock_waiting{};  // waits for those
    // A column may hold values that are not of its type: an id is looked for in every form.
    bool loose_types = false;
    bool (*is_blob)(std::string_view type) = nullptr;
    bool (*is_number)(std::string_view type) = nullptr;
    // Values for a column of this type.
    std::string (*now_as)(std::string_view type) = nullptr;
    std::string (*true_as)(std::string_view type) = nullptr;
};

class ForeignSql {
public:
    // `types`: of the columns that the table has. Throws std::invalid_argument when a column is
    // missing that the map names, or that nobody can do without.
    ForeignSql(const ForeignTexts& texts, Placeholder placeholder, const ForeignTable& table,
               std::map<std::string, std::string> types);

    // Throws std::invalid_argument when the values of the status cannot tell what waits: they are
    // missing, contradict each other or are of another kind than the column.
    void require_states() const;

    // The database's clock, in microseconds, tells which locks are over.
    SqlStatement count_pending(std::int64_t now_us) const;
    SqlStatement count_dead() const;
    SqlStatement count_without_key() const;
    // The ids of a chunk: hex.
    SqlStatement chunk_ids(std::int64_t now_us, const AdoptRequest& request) const;
    SqlStatement ids_without_key(std::uint32_t chunk) const;
    // Rows with one of these ids: as many as there are ids, where those are unique.
    SqlStatement count_ids(const std::vector<std::string>& ids, bool without_key = false) const;
    // Id in hex, bytes of the payload.
    SqlStatement sizes(const std::vector<std::string>& ids) const;
    // Locks those of `ids` that still wait. Columns as in fields().
    SqlStatement chunk_rows(std::int64_t now_us, const AdoptRequest& request,
                            const std::vector<std::string>& ids) const;
    SqlStatement finish(std::int64_t now_us, const AdoptRequest& request,
                        const std::vector<std::string>& ids) const;
    SqlStatement set_key(const std::string& id, const std::string& key) const;

    // What chunk_rows() yields, in order: the fields of the message that the table has.
    const std::vector<std::string>& fields() const { return fields_; }
    // Which of them are texts, in hex.
    static bool is_text(std::string_view field);
    // The text that `hex` stands for: bytes that are a UUID become one.
    std::string text_of(const std::string& field, const std::string& hex) const;

private:
    class Writer;

    std::string column(const std::string& field) const;
    std::string applied(const std::string& text, const std::string& field) const;
    bool has(const std::string& field) const { return table_.columns.contains(field); }
    const std::string& type_of(const std::string& field) const;
    std::string bytes_of(const std::string& field) const;
    std::string status_is(std::string_view comparison) const;
    std::string literal(const std::string& value) const;
    std::string list_of(const std::vector<std::string>& values) const;
    std::string marks() const;
    std::string open_condition() const;
    std::string dead_condition() const;
    void waits(Writer& out, std::int64_t now_us, bool with_dead) const;
    void add_ids(Writer& out, const std::vector<std::string>& ids) const;

    const ForeignTexts& texts_;
    const Placeholder placeholder_;
    const ForeignTable& table_;
    const std::map<std::string, std::string> types_;
    std::string from_;
    std::vector<std::string> fields_;
};

// "a.b" as its schema (empty: none) and its name.
std::pair<std::string, std::string> split_name(const std::string& name);
std::string quoted(char quote, std::string_view name);

}  // namespace postroom::sql
