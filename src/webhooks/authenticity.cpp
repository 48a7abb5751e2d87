#include "base/assert.hpp"
#include "postroom/webhooks.hpp"

namespace postroom::webhooks {

std::string_view to_string(Authenticity authenticity) {
    switch (authenticity) {
        case Authenticity::ok:
            return "ok";
        case Authenticity::missing_header:
            return "missing_header";
        case Authenticity::malformed:
            return "malformed";
        case Authenticity::header_too_large:
            return "header_too_large";
        case Authenticity::too_many_signatures:
            return "too_many_signatures";
        case Authenticity::timestamp_too_old:
            return "timestamp_too_old";
        case Authenticity::timestamp_in_future:
            return "timestamp_in_future";
        case Authenticity::unknown_version:
            return "unknown_version";
        case Authenticity::no_matching_signature:
            return "no_matching_signature";
        case Authenticity::unusable_message:
            return "unusable_message";
    }
    POSTROOM_ASSERT(false && "a Authenticity outside its enum");
    return {};
}

int http_status(const Receipt& receipt) {
    switch (receipt.authenticity) {
        case Authenticity::ok:
            return 200;
        case Authenticity::missing_header:
        case Authenticity::malformed:
            return 400;
        case Authenticity::header_too_large:
        case Authenticity::too_many_signatures:
            return 431;
        case Authenticity::timestamp_too_old:
        case Authenticity::timestamp_in_future:
        case Authenticity::unknown_version:
        case Authenticity::no_matching_signature:
            return 401;
        case Authenticity::unusable_message:
            return 422;
    }
    POSTROOM_ASSERT(false && "a Authenticity outside its enum");
    return 500;
}

}  // namespace postroom::webhooks
