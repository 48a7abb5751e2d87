// ParameterReader: the parameters of a request, checked. What is wrong is refused by name.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "admin/change.hpp"
#include "admin/http/http_message.hpp"
#include "postroom/store.hpp"

namespace postroom::admin {

class ParameterReader {
public:
    explicit ParameterReader(const Parameters& parameters) : parameters_(parameters) {}

    // All of them throw Problem. nullopt: it is not given.
    std::optional<std::string> text(const std::string& name, std::size_t chars_max = 255);
    std::optional<std::uint64_t> number(const std::string& name, std::uint64_t least,
                                        std::uint64_t most);
    std::optional<std::string> word(const std::string& name,
                                    std::initializer_list<std::string_view> words);
    bool flag(const std::string& name);
    std::optional<Instant> time(const std::string& name);
    Queue queue();
    // "action", which must be given.
    Change change();
    // Everything that Query can look for, but for ids and paging.
    Query filter();
    // "fingerprint"; empty: it is not given.
    std::string fingerprint();

    // Refuses what nobody has asked for.
    void end() const;

private:
    const std::string* find(const std::string& name);
    StateSet states();

    const Parameters& parameters_;
    std::set<std::string, std::less<>> known_;
};

// Reads a request's body, one JSON object, into parameters: strings as they are, numbers and
// booleans as their text, arrays of strings joined by commas, objects as their text. Throws
// Problem; for null too, which would be read as a word.
Parameters body_parameters(std::string_view json);

}  // namespace postroom::admin
