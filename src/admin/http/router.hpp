// Router: which operation a request is for, whether the caller may, and the answer.
//
// admit() runs on the server's own thread and must not wait; answer() may, as Route::Kind says.
#pragma once

#include <string>
#include <string_view>

#include "admin/http/context.hpp"
#include "admin/http/gate.hpp"

namespace postroom::admin {

struct Route {
    enum class Kind : std::uint8_t {
        quick,      // answered from memory
        rendering,  // from memory too, a text as long as there are stores and topics
        asking,     // asks a database
        stream,     // server-sent events; has no handler
    };
    std::string_view method;
    std::string_view pattern;  // "/api/messages/{id}"
    AdminRole role;
    Kind kind;
    Response (*handler)(const Context&, const Request&);
};

// A request that may go on.
struct Admitted {
    const Route* route = nullptr;  // nullptr: `page` is the answer
    Request request{};
    const StaticPage* page = nullptr;
    std::string last_event_id{};
    std::string if_none_match{};
};

class Router {
public:
    Router(const Context& context, Gate& gate) : context_(context), gate_(gate) {}

    // Throws Problem.
    Admitted admit(const RequestHead& head) const;
    // Never throws.
    Response answer(const Admitted& admitted) const noexcept;

private:
    Response page_response(const Admitted& admitted) const;
    Response handled(const Admitted& admitted) const;

    const Context& context_;
    Gate& gate_;
};

}  // namespace postroom::admin
