// Names that are put into SQL text: of our tables, and of tables that others designed.
#include <algorithm>

#include "base/identifier.hpp"
#include "fuzz.hpp"
#include "queue/sql_access.hpp"

namespace postroom::fuzz {

namespace {

// Nothing but the quotes of an engine.
class Quotes final : public SqlWords {
public:
    explicit Quotes(std::string_view quotes) : quotes_(quotes) {}

    std::string_view quotes() const override { return quotes_; }
    std::string parameter(std::size_t) const override { return "?"; }
    std::string select(const SqlSelect&) const override { return {}; }
    SqlStatement columns(const std::string&, const std::string&) const override { return {}; }
    SqlColumn column(const std::string&, const std::string&) const override { return {}; }

private:
    std::string_view quotes_;
};

void check_quoting(std::string_view name, std::string_view quotes) {
    takes<std::invalid_argument>([&] {
        const std::string quoted = Quotes(quotes).quoted(name);
        require(quoted.size() == name.size() + 2 && quoted.front() == quotes.front() &&
                    quoted.back() == quotes.back(),
                "a name stands between its quotes");
        require(quoted.find(quotes.back(), 1) == quoted.size() - 1,
                "nothing in a name ends its quotes");
        require(quoted.find('\0') == std::string::npos, "a name ends where its text ends");
    });
}

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

void run(std::string_view input) {
    takes<std::invalid_argument>([&] {
        const base::Identifier name("outbox_table", input);
        require(name.str() == input && std::ranges::all_of(input, is_plain) &&
                    input.size() <= base::identifier_length_max && !input.empty() &&
                    !(input[0] >= '0' && input[0] <= '9'),
                "a name of ours needs no quotes");
    });
    for (const std::string_view quotes : {"\"\"", "``", "[]"}) check_quoting(input, quotes);
}

}  // namespace postroom::fuzz
