// Names: the tables of a store, and the only way a name gets into SQL text.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/identifier.hpp"
#include "postroom/message.hpp"
#include "postroom/open_store.hpp"

namespace postroom::sql {

// Validated names from the options. Throws std::invalid_argument naming the option and the rule.
struct Names {
    base::Identifier schema;
    base::Identifier outbox;
    base::Identifier inbox;

    explicit Names(const OpenOptions& options);
    const base::Identifier& of(Queue queue) const {
        return queue == Queue::outbox ? outbox : inbox;
    }
};

// How an engine writes a name: quoted, with its schema if it has schemas.
using Qualify = std::function<std::string(const base::Identifier& schema, std::string_view name)>;

// Replaces the tokens of a text for one queue with base name Q:
//   {schema}   the quoted schema      {queue}  Q itself, for use inside other names
//   {view}     the qualified name Q   {lock}   schema.Q, for use inside a string literal
//   {any_word} the qualified name Q_any_word
// Braces that do not hold a lower-case word stay as they are.
std::string expand(std::string_view text, const Names& names, Queue queue, const Qualify& qualify);

}  // namespace postroom::sql
