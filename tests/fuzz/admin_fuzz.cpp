// A request to the admin server: its target, an empty line, and its body.
#include "admin/http/http_message.hpp"
#include "admin/http/parameter_reader.hpp"
#include "base/json_text.hpp"
#include "base/utf8.hpp"
#include "fuzz.hpp"

namespace postroom::fuzz {

namespace {

using admin::ParameterReader;
using admin::Parameters;
using admin::Problem;

template <class Read>
void refuses_properly(const Read& read) {
    try {
        read();
    } catch (const Problem& problem) {
        require(problem.status() >= 400 && problem.status() < 500, "a refusal blames the caller");
        require(base::compact_json(problem.response().body).has_value(), "a problem is JSON");
    }
}

void read_all(const Parameters& parameters) {
    for (const auto& [name, value] : parameters)
        require(base::is_valid_utf8(name) && base::is_valid_utf8(value) &&
                    value.find('\0') == std::string::npos,
                "a parameter is text that can be stored");
    ParameterReader reader(parameters);
    refuses_properly([&] { reader.filter(); });
    refuses_properly([&] { reader.queue(); });
    refuses_properly([&] { reader.change(); });
    refuses_properly([&] {
        if (const std::optional<std::uint64_t> limit = reader.number("limit", 1, 500))
            require(*limit >= 1 && *limit <= 500, "a number is within its limits");
    });
    refuses_properly([&] { reader.end(); });
}

}  // namespace

void run(std::string_view input) {
    const std::string_view target = cut(input, '\n');
    refuses_properly([&] {
        const admin::Target parsed = admin::parse_target(target);
        for (const std::string& segment : parsed.segments)
            require(base::is_valid_utf8(segment), "a part of a path is text");
        read_all(parsed.query);
    });
    refuses_properly([&] { read_all(admin::body_parameters(input)); });
}

}  // namespace postroom::fuzz
