// What we send and must not show when it comes back in an answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sinks/http/options.hpp"
#include "sinks/http/request.hpp"

namespace postroom::sink_http {

// The configured authorization and header values and the request's signature, as they are, in their
// longer words alone (a token without "Bearer") and as JSON writes them.
std::vector<std::string> secrets_of(const HttpOptions& options, const Request& request);

// `text` with "***" for each of `secrets`. When it `is_cut`, what may be the beginning of one at
// its end is left out.
std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets,
                            bool is_cut);

}  // namespace postroom::sink_http
