// Requests and responses of the admin server, without anything of the network.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postroom/admin.hpp"

namespace postroom::admin {

// Who is calling.
struct Caller {
    std::string name{};     // the token's, or "anonymous"
    std::string address{};  // an IP address
    AdminRole role = AdminRole::none;
    bool anonymous = true;

    // For the audit log.
    std::string who() const { return name + "@" + address; }
    // Whose requests and streams are counted together.
    std::string key() const { return anonymous ? address : "token " + name; }
};

// What a request says before its body.
struct RequestHead {
    std::string method{};
    std::string target{};
    std::string address{};
    std::vector<std::pair<std::string, std::string>> headers{};  // names in lower case

    // nullopt: there is none. The first of several: what must be unique is checked by the gate.
    std::optional<std::string> header(std::string_view name) const;
    std::size_t count(std::string_view name) const;
};

using Parameters = std::map<std::string, std::string, std::less<>>;

struct Request {
    Caller caller{};
    std::string path{};
    Parameters path_parameters{};
    Parameters query{};
    std::string body{};
};

struct Response {
    unsigned status = 200;
    std::string content_type = "application/json";
    std::string body{};
    std::vector<std::pair<std::string, std::string>> headers{};
};

Response json_response(std::string body, unsigned status = 200);
Response text_response(std::string body, unsigned status = 200);

// Problem: a request that is refused, and why (RFC 9457).
class Problem : public std::runtime_error {
public:
    Problem(unsigned status, std::string type, std::string title, std::string detail = "",
            std::string field = "");

    unsigned status() const { return status_; }
    Problem& with_header(std::string name, std::string value);
    Response response() const;

    static Problem bad_parameter(const std::string& field, const std::string& what);
    static Problem not_found(const std::string& what);
    static Problem unauthorized(const std::string& what);
    static Problem forbidden(const std::string& type, const std::string& what);
    static Problem conflict(const std::string& what);
    static Problem too_many(const std::string& what, unsigned retry_after_seconds);
    static Problem too_large(const std::string& what);
    static Problem unavailable(const std::string& what);

private:
    unsigned status_;
    std::string type_;
    std::string detail_;
    std::string field_;
    std::vector<std::pair<std::string, std::string>> headers_;
};

// The path and the parameters of a request target. Throws Problem: not an absolute path, a broken
// escape, ill-formed UTF-8, a NUL, a parameter that is given twice.
struct Target {
    std::string path{};                   // as sent
    std::vector<std::string> segments{};  // decoded
    Parameters query{};
};
Target parse_target(std::string_view target);

}  // namespace postroom::admin
