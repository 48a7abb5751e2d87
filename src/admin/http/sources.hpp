// Where inbox messages come from that came before, as this process and others counted.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "admin/http/context.hpp"

namespace postroom::admin {

struct SourceSums {
    std::map<std::pair<std::string, std::string>, SourceRepeats> sources{};  // by store and source
    std::size_t processes = 0;  // that were heard, this one included

    // Of each store.
    std::map<std::string, std::uint64_t> duplicates() const;
};

SourceSums sources_of(const Context& context, std::span<const StorePtr> stores);

}  // namespace postroom::admin
