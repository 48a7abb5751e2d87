// Connection strings of this backend, as a URL and as keyword=value.
#include "backends/postgres/conninfo.hpp"
#include "fuzz.hpp"

namespace postroom::fuzz {

void run(std::string_view input) {
    for (const std::string& url : {std::string(input), "postgresql://" + std::string(input)}) {
        takes<std::invalid_argument>([&] {
            const postgres::Conninfo conninfo(url, {});
            const postgres::Conninfo::Arrays arrays = conninfo.arrays();
            require(
                arrays.keywords.size() == arrays.values.size() && arrays.keywords.back() == nullptr,
                "keywords and values are pairs and end with a null");
            require(conninfo.peer().starts_with("postgresql:"), "the peer is a URL");
            require(conninfo.settings().at("client_encoding") == "UTF8", "text is UTF-8");
        });
    }
}

}  // namespace postroom::fuzz
