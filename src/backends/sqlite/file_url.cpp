#include "backends/sqlite/file_url.hpp"

#include <stdexcept>

namespace postroom::sqlite {

std::string path_of(std::string_view url) {
    constexpr std::string_view scheme = "sqlite:";
    if (!url.starts_with(scheme)) throw std::invalid_argument("url: does not begin with 'sqlite:'");
    url.remove_prefix(scheme.size());
    if (url.starts_with("//")) {
        url.remove_prefix(2);
        if (!url.starts_with("/")) {
            throw std::invalid_argument(
                "url: a file has no host; write sqlite:shop.db for a relative path, "
                "sqlite:///var/shop.db for an "
                "absolute one");
        }
    }
    return std::string(url);
}

}  // namespace postroom::sqlite
