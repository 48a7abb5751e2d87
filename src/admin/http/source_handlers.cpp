#include <algorithm>

#include "admin/http/handlers.hpp"
#include "admin/http/sources.hpp"
#include "base/json_writer.hpp"

namespace postroom::admin {

Response list_sources(const Context& context, const Request& request) {
    ParameterReader read(request.query);
    const std::vector<StorePtr> stores = context.chosen_stores(read.text("store"));
    read.end();
    const SourceSums sums = sources_of(context, stores);
    std::vector<decltype(sums.sources)::const_pointer> sorted;
    for (const auto& one : sums.sources) sorted.push_back(&one);
    std::ranges::stable_sort(sorted, std::ranges::greater{},
                             [](const auto* one) { return one->second.duplicates; });
    base::JsonArray out;
    for (const auto* const one : sorted)
        out.add_json(base::JsonObject()
                         .add("store", one->first.first)
                         .add("source", one->first.second)
                         .add("duplicates", one->second.duplicates)
                         .add("hash_mismatches", one->second.hash_mismatches)
                         .text());
    return json_response(base::JsonObject()
                             .add_json("sources", out.text())
                             .add("processes", std::uint64_t{sums.processes})
                             .text());
}

}  // namespace postroom::admin
