#include "admin/http/router.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "admin/http/admin_log.hpp"
#include "admin/http/handlers.hpp"
#include "postroom/error.hpp"

namespace postroom::admin {

namespace {

using Kind = Route::Kind;

// The roles are those of x-role in docs/reference/openapi.yaml; a test compares them.
constexpr std::array routes{
    Route{"GET", "/api/openapi.yaml", AdminRole::none, Kind::quick, &get_openapi},
    Route{"GET", "/api/session", AdminRole::none, Kind::quick, &get_session},
    Route{"GET", "/api/overview", AdminRole::view, Kind::rendering, &get_overview},
    Route{"GET", "/api/live", AdminRole::view, Kind::stream, nullptr},
    Route{"GET", "/api/messages", AdminRole::view, Kind::asking, &list_messages},
    Route{"GET", "/api/messages/{id}", AdminRole::view, Kind::asking, &get_message},
    Route{"GET", "/api/messages/{id}/payload", AdminRole::reveal, Kind::asking, &reveal_payload},
    Route{"POST", "/api/messages/{id}/change", AdminRole::operate, Kind::asking, &change_message},
    Route{"POST", "/api/messages/{id}/resend", AdminRole::admin, Kind::asking, &resend_message},
    Route{"GET", "/api/dead-letters", AdminRole::view, Kind::asking, &list_dead_letters},
    Route{"GET", "/api/operations", AdminRole::view, Kind::quick, &list_operations},
    Route{"POST", "/api/operations", AdminRole::operate, Kind::asking, &start_operation},
    Route{"GET", "/api/operations/{operation}", AdminRole::view, Kind::quick, &get_operation},
    Route{"POST", "/api/operations/{operation}/cancel", AdminRole::operate, Kind::asking,
          &cancel_operation},
    Route{"GET", "/api/topics", AdminRole::view, Kind::rendering, &list_topics},
    Route{"POST", "/api/topics/pause", AdminRole::operate, Kind::asking, &pause_topic},
    Route{"POST", "/api/topics/resume", AdminRole::operate, Kind::asking, &resume_topic},
    Route{"GET", "/api/destinations", AdminRole::view, Kind::rendering, &list_destinations},
    Route{"POST", "/api/destinations/probe", AdminRole::operate, Kind::asking, &probe_destination},
    Route{"GET", "/api/workers", AdminRole::view, Kind::asking, &list_workers},
    Route{"GET", "/api/stores", AdminRole::view, Kind::rendering, &list_stores},
    Route{"GET", "/api/stores/findings", AdminRole::view, Kind::asking, &examine_store},
    Route{"GET", "/api/audit", AdminRole::operate, Kind::asking, &list_audit},
    Route{"GET", "/api/outbox", AdminRole::view, Kind::asking, &list_outbox},
    Route{"GET", "/api/workflow/outbox", AdminRole::view, Kind::asking, &list_outbox},
    Route{"GET", "/api/inbox", AdminRole::view, Kind::asking, &list_inbox},
    Route{"GET", "/api/inbox/sources", AdminRole::view, Kind::rendering, &list_sources},
    Route{"GET", "/api/metrics", AdminRole::view, Kind::rendering, &get_metrics},
    Route{"GET", "/metrics", AdminRole::view, Kind::rendering, &get_prometheus},
    Route{"GET", "/livez", AdminRole::none, Kind::quick, &get_liveness},
    Route{"GET", "/readyz", AdminRole::none, Kind::quick, &get_readiness},
    Route{"GET", "/health", AdminRole::none, Kind::quick, &get_health},
};

constexpr std::string_view no_pages =
    "This is the admin API of Postroom, without its dashboard. To get the page, build the program "
    "where Node.js and npm are installed, with -DPOSTROOM_DASHBOARD=ON. /api/openapi.yaml tells "
    "what there is, besides /metrics and /health.\n";

std::string_view take_segment(std::string_view& path) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    return segment;
}

bool fits(std::string_view pattern, const std::vector<std::string>& segments,
          Parameters& parameters) {
    parameters.clear();
    for (const std::string& given : segments) {
        if (pattern.empty()) return false;
        const std::string_view wanted = take_segment(pattern);
        if (wanted.starts_with('{') && !given.empty()) {
            parameters.emplace(wanted.substr(1, wanted.size() - 2), given);
        } else if (wanted != given) {
            return false;
        }
    }
    return pattern.empty();
}

std::string_view asked_method(const RequestHead& head) {
    return head.method == "HEAD" ? std::string_view("GET") : std::string_view(head.method);
}

void check_media_type(const RequestHead& head) {
    const std::string given = head.header("content-type").value_or("");
    if (given.substr(0, given.find(';')) != "application/json")
        throw Problem(415, "not-json", "The body must be JSON.",
                      "send it with 'Content-Type: application/json'");
}

Problem problem_of(const Error& error) {
    switch (error.kind()) {
        case ErrorKind::unavailable:
            return Problem::unavailable(error.what());
        case ErrorKind::conflict:
        case ErrorKind::misuse:
            return Problem::conflict(error.what());
        default:
            return {500, "store-failed", "The store could not do it.", error.what()};
    }
}

}  // namespace

Admitted Router::admit(const RequestHead& head) const {
    Admitted out{.request = {.caller = gate_.admit(head, std::chrono::steady_clock::now())}};
    Target target = parse_target(head.target);
    out.request.path = target.path;
    out.request.query = std::move(target.query);
    out.if_none_match = head.header("if-none-match").value_or("");
    out.last_event_id = head.header("last-event-id").value_or("");
    bool known_path = false;
    for (const Route& route : routes) {
        if (!fits(route.pattern, target.segments, out.request.path_parameters)) continue;
        known_path = true;
        if (route.method != asked_method(head)) continue;
        out.route = &route;
        require_role(out.request.caller, route.role);
        if (route.method == "POST" && route.pattern != "/api/operations/{operation}/cancel")
            check_media_type(head);
        return out;
    }
    if (context_.options.pages) out.page = context_.options.pages->find(target.path);
    if (!known_path && out.page == nullptr && target.path != "/")
        throw Problem::not_found("/api/openapi.yaml tells what there is");
    if (known_path || asked_method(head) != "GET")
        throw Problem(405, "wrong-method", "That does not take this method.")
            .with_header("Allow", asked_method(head) == "GET" ? "POST" : "GET");
    return out;
}

Response Router::page_response(const Admitted& admitted) const {
    const StaticPage* const page = admitted.page;
    if (page == nullptr) return text_response(std::string(no_pages));
    Response response{
        .content_type = std::string(page->content_type),
        .headers = {{"ETag", std::string(page->etag)},
                    {"Cache-Control",
                     page->immutable ? "public, max-age=31536000, immutable" : "no-cache"}}};
    if (!page->etag.empty() && admitted.if_none_match == page->etag) {
        response.status = 304;
        return response;
    }
    if (page->gzip) response.headers.emplace_back("Content-Encoding", "gzip");
    response.body = page->bytes;
    return response;
}

Response Router::handled(const Admitted& admitted) const {
    if (admitted.route == nullptr) return page_response(admitted);
    try {
        return admitted.route->handler(context_, admitted.request);
    } catch (const Problem&) {
        throw;
    } catch (const Error& error) {
        throw problem_of(error);
    } catch (const std::invalid_argument& error) {
        throw Problem(400, "invalid-parameter", "A parameter is wrong.", error.what());
    }
}

Response Router::answer(const Admitted& admitted) const noexcept {
    try {
        return handled(admitted);
    } catch (const Problem& problem) {
        return problem.response();
    } catch (const std::exception& error) {
        write_log(context_.options, LogLevel::error,
                  log_line("ADMIN_REQUEST_FAILED")
                      .add("path", admitted.request.path)
                      .add("error", error.what()));
        return Problem(500, "failed", "Something went wrong here; the log says what.").response();
    }
}

}  // namespace postroom::admin
