// ApiClient: asks the admin server of a relay.
//
// The token comes from POSTROOM_TOKEN: on a command line others could read it. A server on this
// machine is never asked through a proxy, which would read the token too.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace postroom::cli {

struct ApiAnswer {
    long status = 0;
    std::string body{};
};

class ApiClient {
public:
    // Throws Failure{usage} for what is no URL of http or https.
    explicit ApiClient(std::string url);

    // Says so on standard error when others on the way can read the token.
    void warn_of_plain_text() const;

    // Whatever the status. Throws Failure{unavailable} when nobody answers.
    ApiAnswer get(const std::string& path) const;

    // The body of an answer that went well. Throws Failure with what the server says: not_found,
    // usage for a parameter that is wrong, config for a token that is, unavailable.
    using Query = std::map<std::string, std::string>;
    std::string fetch(const std::string& path, const Query& query = {}) const;
    std::string post(const std::string& path, const Query& query, const std::string& json) const;

    // For use as a part of a path.
    static std::string escaped(const std::string& text);

private:
    ApiAnswer send(const std::string& target, const std::string* json) const;
    std::string good(const ApiAnswer& answer) const;

    const std::string url_;
    const std::string token_;
    const bool here_;  // the server is on this machine
};

}  // namespace postroom::cli
