// Headers of a message as a database keeps them, whoever wrote them there.
#include "base/json_map.hpp"
#include "base/json_text.hpp"
#include "base/utf8.hpp"
#include "fuzz.hpp"
#include "postroom/message.hpp"
#include "sql/names.hpp"

namespace postroom::fuzz {

namespace {

// Names of one or two bytes that are all escaped take more than their share; there are some
// thousand of them.
constexpr std::size_t short_names = 2'500;

std::size_t bytes_of(const Headers& headers) {
    std::size_t bytes = 0;
    for (const auto& [name, value] : headers) bytes += name.size() + value.size();
    return bytes;
}

void check_stored(const Headers& headers) {
    const std::string json = base::to_json(headers);
    require(base::compact_json(json) == json, "headers are stored as compact JSON");
    require(base::map_from_json(json) == headers, "headers are read as they were stored");
    const Limits limits{.headers_bytes = bytes_of(headers)};
    const NewMessage message{.topic = TopicName("t"), .payload = "", .headers = headers};
    if (takes<std::invalid_argument>([&] { validate(message, limits); }))
        require(json.size() <= sql::headers_text_bytes(limits) + short_names,
                "headers within their limit fit where they are stored");
}

}  // namespace

void run(std::string_view input) {
    const std::optional<Headers> headers = base::map_from_json(input);
    if (headers && base::is_valid_utf8(input)) check_stored(*headers);
}

}  // namespace postroom::fuzz
