// The fields that a Query restricts to one text, by the names that messages have them under.
//
// Whoever goes through them (SQL, memory, parameters of the API, options of the program, the audit
// log) takes them from here: a new filter is a member of Query and a column that is searched.
#pragma once

#include <optional>
#include <string>
#include <type_traits>

#include "postroom/store.hpp"
#include "queue/message_fields.hpp"

namespace postroom {

// Calls visit(name, member) for each of them, in the order of message_fields.
template <class SomeQuery, class Visit>
constexpr void visit_texts(SomeQuery& query, Visit&& visit) {
    visit_fields(query, [&](FieldIndex index, auto& member) {
        using Member = std::remove_cvref_t<decltype(member)>;
        if constexpr (std::is_same_v<Member, std::optional<std::string>>)
            visit(field_of(index).name, member);
    });
}

}  // namespace postroom
