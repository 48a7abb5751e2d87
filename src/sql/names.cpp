#include "sql/names.hpp"

#include <algorithm>
#include <stdexcept>

namespace postroom::sql {

namespace {

bool is_token(std::string_view word) {
    return !word.empty() && std::all_of(word.begin(), word.end(),
                                        [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

std::string token_value(std::string_view word, const Names& names, Queue queue,
                        const Qualify& qualify) {
    const std::string& base = names.of(queue).str();
    if (word == "schema") return '"' + names.schema.str() + '"';
    if (word == "queue") return base;
    if (word == "view") return qualify(names.schema, base);
    if (word == "lock") return names.schema.str() + "." + base;
    return qualify(names.schema, base + "_" + std::string(word));
}

}  // namespace

Names::Names(const OpenOptions& options)
    : schema("schema", options.schema),
      outbox("outbox_table", options.outbox_table),
      inbox("inbox_table", options.inbox_table) {
    if (outbox == inbox) {
        throw std::invalid_argument("inbox_table: must differ from outbox_table");
    }
}

std::string expand(std::string_view text, const Names& names, Queue queue, const Qualify& qualify) {
    std::string out;
    while (!text.empty()) {
        const std::size_t open = text.find('{');
        out.append(text.substr(0, open));
        if (open == std::string_view::npos) break;
        text.remove_prefix(open);
        const std::size_t close = text.find('}');
        const std::string_view word =
            close == std::string_view::npos ? std::string_view{} : text.substr(1, close - 1);
        if (is_token(word)) {
            out += token_value(word, names, queue, qualify);
            text.remove_prefix(close + 1);
        } else {
            out += '{';
            text.remove_prefix(1);
        }
    }
    return out;
}

}  // namespace postroom::sql
