#include "postroom/error.hpp"

#include "base/assert.hpp"

namespace postroom {

std::string_view to_string(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::unavailable:
            return "unavailable";
        case ErrorKind::conflict:
            return "conflict";
        case ErrorKind::outcome_unknown:
            return "outcome_unknown";
        case ErrorKind::rejected:
            return "rejected";
        case ErrorKind::misuse:
            return "misuse";
    }
    POSTROOM_ASSERT(false && "an ErrorKind outside its enum");
    return {};
}

}  // namespace postroom
