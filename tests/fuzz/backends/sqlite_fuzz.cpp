// URLs of this backend.
#include "backends/sqlite/file_url.hpp"
#include "fuzz.hpp"

namespace postroom::fuzz {

void run(std::string_view input) {
    for (const std::string& url : {std::string(input), "sqlite:" + std::string(input)}) {
        takes<std::invalid_argument>([&] {
            const std::string path = sqlite::path_of(url);
            require(url.ends_with(path), "the path is the end of the URL, as it stands there");
        });
    }
}

}  // namespace postroom::fuzz
