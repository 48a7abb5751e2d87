// Search: a Query as SQL. It appends conditions to the find texts of a dialect, and knows their
// values.
//
// Thread safety: a plain value.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postroom/store.hpp"
#include "sql/value.hpp"

namespace postroom::sql {

// The rows of `selects`, which have the same columns, in this order (of columns, as behind ORDER
// BY): the first :limit of them.
using Paged = std::string (*)(const std::vector<std::string>& selects, std::string_view order);

// That, for engines that have LIMIT. `before_part` stands before each of several in parentheses.
std::string paged_by_limit(const std::vector<std::string>& selects, std::string_view order);
std::string paged_by_limit(const std::vector<std::string>& selects, std::string_view order,
                           std::string_view before_part);

// What the engine has its own words for.
struct SearchWords {
    std::string in_array{};  // Dialect::in_array
    std::string contains{};  // Dialect::contains
    std::string equals{};    // Dialect::equals
    std::string empty{};     // Dialect::empty
    std::string blocking{};  // QueueTexts::blocking, with names put in
    Paged paged = nullptr;   // Dialect::paged
    Instant now{};           // the database's clock; for Query::put_off
};

// A part of what there is to find: "SELECT {columns:row} FROM ..." without WHERE. The store appends
// conditions on any of these columns, has them paged, and may put other columns in the place of the
// token.
struct FindText {
    // How an index finds its rows by their number: in order; ranges of them, in no order; or they
    // have none.
    enum class Numbers : std::uint8_t { sorted, ranges, none };

    FindText(const char* given_text) : text(given_text) {}
    FindText(std::string given_text, StateSet given_states, Numbers given_numbers = Numbers::sorted)
        : text(std::move(given_text)), states(given_states), numbers(given_numbers) {}

    std::string text;
    StateSet states{};  // its rows are in one of these; empty: in any
    Numbers numbers = Numbers::sorted;
    bool errors = true;  // some may have failed before
    bool keys = true;    // some may have an ordering key

    FindText without_errors() const;
    // Neither failed before nor in line.
    FindText fresh() const;
};

// The numbers of the messages of a table, in their order: "SELECT seq FROM ... WHERE ..."; the
// store appends conditions and has them paged. `every`: where only one number in so many is in an
// index, those.
struct NumbersText {
    FindText source;
    std::uint64_t every = 1;
};

// Whether the part may hold something that `query` looks for.
bool may_hold(const FindText& part, const Query& query);

// The parts, with what is asked for in the place of {columns:row}.
struct SearchTexts {
    std::vector<FindText> rows{};
    std::vector<FindText> rows_without_payload{};
    std::vector<FindText> counts{};
};
SearchTexts search_texts(const std::vector<FindText>& find, std::string_view payload_bytes);

class Search {
public:
    // `query` must outlive this.
    Search(const Query& query, const SearchWords& words);
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    // The statement for the rows, and for how many there are (several rows add up).
    std::string rows_text(const SearchTexts& texts) const;
    std::string count_text(const SearchTexts& texts) const;
    // The statement for which numbers there are, of which `numbers` tells those of one table: how
    // many, at most :limit, the lowest and the highest of them.
    std::string numbers_text(const FindText& numbers) const;
    // No part can hold what is asked for: there is nothing to ask.
    bool hopeless(const SearchTexts& texts) const;

    const Params& params() const { return params_; }

private:
    std::vector<std::string> asked(const std::vector<FindText>& parts) const;
    void require(const std::string& condition) { where_ += " AND " + condition; }
    void require_equal(const SearchWords& words, std::string_view column,
                       const std::optional<std::string>& value);
    void require_numbers(const std::string& in_array);
    void require_state(StateSet states);
    void require_created();
    void require_failed();
    void require_put_off(Instant now);

    const Query& query_;
    const Paged paged_;
    std::vector<std::int64_t> seqs_;
    Params params_;
    std::string where_;
};

}  // namespace postroom::sql
