#include "base/assert.hpp"
#include "postroom/webhooks.hpp"

namespace postroom::webhooks {

std::string_view to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::ok:
            return "ok";
        case Verdict::missing_header:
            return "missing_header";
        case Verdict::malformed:
            return "malformed";
        case Verdict::header_too_large:
            return "header_too_large";
        case Verdict::too_many_signatures:
            return "too_many_signatures";
        case Verdict::timestamp_too_old:
            return "timestamp_too_old";
        case Verdict::timestamp_in_future:
            return "timestamp_in_future";
        case Verdict::unknown_version:
            return "unknown_version";
        case Verdict::no_matching_signature:
            return "no_matching_signature";
        case Verdict::unusable_message:
            return "unusable_message";
    }
    POSTROOM_ASSERT(false && "a Verdict outside its enum");
    return {};
}

int http_status(const Receipt& receipt) {
    switch (receipt.verdict) {
        case Verdict::ok:
            return 200;
        case Verdict::missing_header:
        case Verdict::malformed:
            return 400;
        case Verdict::header_too_large:
        case Verdict::too_many_signatures:
            return 431;
        case Verdict::timestamp_too_old:
        case Verdict::timestamp_in_future:
        case Verdict::unknown_version:
        case Verdict::no_matching_signature:
            return 401;
        case Verdict::unusable_message:
            return 422;
    }
    POSTROOM_ASSERT(false && "a Verdict outside its enum");
    return 500;
}

}  // namespace postroom::webhooks
