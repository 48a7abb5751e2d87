// Gate: who may come in. Decided from a request's head, before its body is read.
//
// Thread safety: one thread.
#pragma once

#include <string>
#include <vector>

#include "admin/http/http_message.hpp"
#include "admin/http/rate_limit.hpp"
#include "postroom/clock.hpp"

namespace postroom::admin {

class Gate {
public:
    Gate(const AdminOptions& options, const Clock& clock);

    // Throws Problem: a page of another site asks, or a name leads here that is not ours (DNS
    // rebinding), it came through a proxy while there is no token, the token is wrong, the caller
    // asks too often.
    Caller admit(const RequestHead& head, RateLimit::Time now);

private:
    void check_host(const RequestHead& head) const;
    void check_origin(const RequestHead& head) const;
    void check_proxy(const RequestHead& head) const;
    Caller identify(const RequestHead& head, RateLimit::Time now);
    const AdminToken* token_of(std::string_view token) const;
    bool is_ours(const std::string& host) const;

    const AdminOptions& options_;
    const Clock& clock_;
    const bool checks_host_;
    RateLimit requests_;
    RateLimit failures_;
};

// Throws Problem when the caller's role is not enough.
void require_role(const Caller& caller, AdminRole wanted);

// "127.0.0.1:8025" -> {"127.0.0.1", 8025}; "[::1]:80" -> {"::1", 80}. Throws
// std::invalid_argument.
struct ListenAddress {
    std::string host{};
    std::uint16_t port = 0;
};
ListenAddress parse_listen(const std::string& listen);

}  // namespace postroom::admin
