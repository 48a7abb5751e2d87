#include "admin/http/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/hex.hpp"
#include "base/loopback.hpp"
#include "base/sha256.hpp"

namespace postroom {

namespace {

using NamedRole = std::pair<AdminRole, std::string_view>;
constexpr std::array named_roles{
    NamedRole{AdminRole::none, "none"}, NamedRole{AdminRole::view, "viewer"},
    NamedRole{AdminRole::operate, "operator"}, NamedRole{AdminRole::reveal, "payload-viewer"},
    NamedRole{AdminRole::admin, "admin"}};

}  // namespace

std::string_view to_string(AdminRole role) {
    for (const auto& [known, word] : named_roles)
        if (known == role) return word;
    return "none";
}

std::optional<AdminRole> admin_role_from(std::string_view word) {
    for (const auto& [role, known] : named_roles)
        if (known == word) return role;
    return std::nullopt;
}

bool may(AdminRole role, AdminRole wanted) {
    if (role == wanted || role == AdminRole::admin || wanted == AdminRole::none) return true;
    return wanted == AdminRole::view && role != AdminRole::none;
}

namespace admin {

namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

// "Localhost:8025" -> "localhost"; "[::1]:8025" -> "[::1]".
std::string host_part(std::string_view authority) {
    if (authority.starts_with('[')) return lower(authority.substr(0, authority.find(']') + 1));
    return lower(authority.substr(0, authority.find(':')));
}

}  // namespace

ListenAddress parse_listen(const std::string& listen) {
    const std::size_t colon = listen.rfind(':');
    const auto refuse = [&]() -> std::invalid_argument {
        return std::invalid_argument(fmt::format(
            "admin.listen: '{}' must be an IP address and a port, such as 127.0.0.1:8025", listen));
    };
    if (colon == std::string::npos) throw refuse();
    ListenAddress out{.host = listen.substr(0, colon)};
    if (out.host.starts_with('[') && out.host.ends_with(']'))
        out.host = out.host.substr(1, out.host.size() - 2);
    if (out.host == "localhost") out.host = "127.0.0.1";
    const char* const end = listen.data() + listen.size();
    const auto [stopped, error] = std::from_chars(listen.data() + colon + 1, end, out.port);
    if (out.host.empty() || error != std::errc() || stopped != end) throw refuse();
    return out;
}

Gate::Gate(const AdminOptions& options, const Clock& clock)
    : options_(options),
      clock_(clock),
      checks_host_(!options.hosts.empty() || base::is_loopback(parse_listen(options.listen).host)),
      requests_(options.limits.requests_per_second, options.limits.burst),
      failures_(options.limits.failures_per_minute / 60.0, options.limits.failures_per_minute) {}

Caller Gate::admit(const RequestHead& head, RateLimit::Time now) {
    check_host(head);
    check_origin(head);
    check_proxy(head);
    Caller caller = identify(head, now);
    if (!requests_.take(caller.key(), now))
        throw Problem::too_many(
            fmt::format("at most {} requests a second, {} at once",
                        options_.limits.requests_per_second, options_.limits.burst),
            1);
    return caller;
}

bool Gate::is_ours(const std::string& host) const {
    return base::is_loopback(host) || host == host_part(options_.listen) ||
           std::ranges::any_of(options_.hosts,
                               [&](const std::string& known) { return lower(known) == host; });
}

// A name that somebody else let point here comes with their pages in the browser behind it. Where a
// token is needed those pages have none; where none is, this is what keeps them out.
void Gate::check_host(const RequestHead& head) const {
    if (head.count("host") != 1)
        throw Problem(400, "invalid-host", "A request names its host once.");
    if (checks_host_ && !is_ours(host_part(*head.header("host"))))
        throw Problem::forbidden("foreign-host",
                                 "this server is not known by that name; admin.hosts lists more");
}

void Gate::check_origin(const RequestHead& head) const {
    const std::optional<std::string> origin = head.header("origin");
    // Pages may be linked to from anywhere. Judged decoded, as the router reads it: /%61pi is /api.
    if (head.header("sec-fetch-site") == "cross-site" &&
        parse_target(head.target).segments.front() == "api")
        throw Problem::forbidden("foreign-origin", "pages of other sites may not ask");
    if (!origin) return;
    const std::size_t slashes = origin->find("://");
    const std::string authority =
        slashes == std::string::npos ? "" : lower(origin->substr(slashes + 3));
    const bool same = !authority.empty() && authority == lower(head.header("host").value_or(""));
    const bool listed = std::ranges::any_of(options_.hosts, [&](const std::string& known) {
        return !authority.empty() && lower(known) == host_part(authority);
    });
    if (head.count("origin") != 1 || (!same && !listed))
        throw Problem::forbidden("foreign-origin", "pages of other sites may not ask");
}

// Whoever comes through a proxy seems to call from the proxy's machine, which often is this one:
// without tokens nothing would tell the world from somebody who sits here.
void Gate::check_proxy(const RequestHead& head) const {
    if (!options_.tokens.empty()) return;
    for (const auto& [name, value] : head.headers)
        if (name == "forwarded" || name == "via" || name == "x-real-ip" ||
            name.starts_with("x-forwarded-"))
            throw Problem::forbidden(
                "proxy-without-token",
                fmt::format("the header '{}' shows that this came through a proxy, and there is no "
                            "token: add one ('postroom token new')",
                            name));
}

// All of them are compared, so that the time does not tell which one was nearly right.
const AdminToken* Gate::token_of(std::string_view token) const {
    const std::string hash = base::hex_encode(base::sha256(token));
    const AdminToken* found = nullptr;
    for (const AdminToken& known : options_.tokens)
        if (base::constant_time_equal(lower(known.sha256), hash)) found = &known;
    if (found != nullptr && found->expires_at && *found->expires_at <= clock_.now()) return nullptr;
    return found;
}

Caller Gate::identify(const RequestHead& head, RateLimit::Time now) {
    constexpr std::string_view scheme = "bearer ";
    const std::optional<std::string> given = head.header("authorization");
    if (!given)
        return {.name = "anonymous",
                .address = head.address,
                .role = options_.tokens.empty() ? options_.anonymous : AdminRole::none};
    const bool bearer = head.count("authorization") == 1 && lower(*given).starts_with(scheme);
    const AdminToken* const token =
        bearer ? token_of(std::string_view(*given).substr(scheme.size())) : nullptr;
    // A right token passes: others behind the same proxy may have sent wrong ones.
    if (token == nullptr) {
        if (!failures_.has(head.address, now))
            throw Problem::too_many("too many wrong tokens from this address", 10);
        failures_.take(head.address, now);
        throw Problem::unauthorized("this token is not known, or has expired");
    }
    return {.name = token->name, .address = head.address, .role = token->role, .anonymous = false};
}

void require_role(const Caller& caller, AdminRole wanted) {
    if (may(caller.role, wanted)) return;
    if (caller.anonymous && caller.role == AdminRole::none)
        throw Problem::unauthorized("send one as 'Authorization: Bearer ...'");
    throw Problem::forbidden(
        "missing-role",
        fmt::format("this needs the role {}; yours is {}{}", to_string(wanted),
                    to_string(caller.role),
                    caller.anonymous ? ". A token brings another (postroom token new), and so does "
                                       "admin.anonymous in the relay's configuration"
                                     : ""));
}

}  // namespace admin

void validate(const AdminOptions& options) {
    const admin::ListenAddress address = admin::parse_listen(options.listen);
    if (!base::is_loopback(address.host) && options.tokens.empty())
        throw std::invalid_argument(fmt::format(
            "admin.listen: {} can be reached from elsewhere, and there is no token: add one "
            "('postroom token new'), or listen on 127.0.0.1",
            options.listen));
    for (const AdminToken& token : options.tokens) {
        const std::optional<std::string> hash = base::hex_decode(token.sha256);
        if (!hash || hash->size() != sizeof(base::Sha256Digest))
            throw std::invalid_argument(fmt::format(
                "tokens.{}.sha256: must be the 64 hexadecimal digits that 'postroom token new' "
                "prints",
                token.name));
        if (token.role == AdminRole::none)
            throw std::invalid_argument(
                fmt::format("tokens.{}.role: a token without a role is of no use", token.name));
    }
}

}  // namespace postroom
