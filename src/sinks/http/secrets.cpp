#include "sinks/http/secrets.hpp"

#include <algorithm>

#include "base/json_text.hpp"
#include "sinks/http/header_names.hpp"

namespace postroom::sink_http {

namespace {

// Shorter ones, such as "Bearer", are names of something.
constexpr std::size_t secret_word_chars_min = 8;

std::string json_spelling(std::string_view text) {
    std::string quoted;
    base::append_json_string(quoted, text);
    return quoted.substr(1, quoted.size() - 2);
}

// Some writers of JSON, such as PHP's, put a backslash before each slash.
std::string with_escaped_slashes(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '/') out += '\\';
        out += c;
    }
    return out;
}

void add_spellings(std::vector<std::string>& secrets, std::string_view secret) {
    if (secret.empty()) return;
    const std::string json = json_spelling(secret);
    for (std::string spelling : {std::string(secret), json, with_escaped_slashes(json)})
        if (std::ranges::find(secrets, spelling) == secrets.end())
            secrets.push_back(std::move(spelling));
}

void add_secret(std::vector<std::string>& secrets, std::string_view value) {
    add_spellings(secrets, value);
    while (!value.empty()) {
        const std::string_view word = value.substr(0, value.find(' '));
        if (word.size() >= secret_word_chars_min) add_spellings(secrets, word);
        value.remove_prefix(std::min(value.size(), word.size() + 1));
    }
}

// Where the first of `secrets` begins of which `text` holds no more than the beginning, or all, at
// its end.
std::size_t begin_of_cut_secret(std::string_view text, const std::vector<std::string>& secrets) {
    for (std::size_t at = 0; at < text.size(); ++at)
        if (std::ranges::any_of(secrets, [end = text.substr(at)](const std::string& secret) {
                return secret.starts_with(end);
            }))
            return at;
    return text.size();
}

}  // namespace

std::vector<std::string> secrets_of(const HttpOptions& options, const Request& request) {
    std::vector<std::string> secrets;
    add_secret(secrets, options.authorization);
    for (const webhooks::Header& header : options.headers) add_secret(secrets, header.value);
    for (const webhooks::Header& header : request.headers)
        if (lower(header.name) == "webhook-signature") add_secret(secrets, header.value);
    return secrets;
}

// Marked first and replaced afterwards, since secrets may overlap or hold one another.
std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets,
                            bool is_cut) {
    std::vector<bool> is_hidden(text.size());
    for (const std::string& secret : secrets)
        for (std::size_t at = text.find(secret); at != std::string_view::npos;
             at = text.find(secret, at + 1))
            std::fill_n(is_hidden.begin() + static_cast<std::ptrdiff_t>(at), secret.size(), true);
    const std::size_t end = is_cut ? begin_of_cut_secret(text, secrets) : text.size();
    std::string out;
    for (std::size_t i = 0; i < end; ++i) {
        if (!is_hidden[i]) {
            out += text[i];
        } else if (i == 0 || !is_hidden[i - 1]) {
            out += "***";
        }
    }
    return out;
}

}  // namespace postroom::sink_http
