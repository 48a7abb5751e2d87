// Names: the tables of a store, and the only way a name gets into SQL text; and the limits that
// stand in such text.
#pragma once

#include <cstddef>
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
    Limits limits;

    explicit Names(const OpenOptions& options);
    const base::Identifier& of(Queue queue) const {
        return queue == Queue::outbox ? outbox : inbox;
    }
};

// What headers within their limit may take where they are stored: they are JSON there, in which a
// byte may take six, and a name with its value six more.
inline std::size_t headers_text_bytes(const Limits& limits) { return 8 * limits.headers_bytes; }

// How an engine writes a name: quoted, with its schema if it has schemas.
using Qualify = std::function<std::string(const base::Identifier& schema, std::string_view name)>;

}  // namespace postroom::sql
