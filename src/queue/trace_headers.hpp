// The headers of W3C Trace Context, the only ones of a message that an observer is shown.
#pragma once

#include <cstddef>

#include "postroom/message.hpp"

namespace postroom {

inline constexpr const char* traceparent_header = "traceparent";
inline constexpr const char* tracestate_header = "tracestate";
inline constexpr std::size_t traceparent_header_bytes = 11 + 55;  // its name, and 00-...-...-01

inline void keep_trace_headers(Headers& headers) {
    std::erase_if(headers, [](const auto& header) {
        return header.first != traceparent_header && header.first != tracestate_header;
    });
}

inline Headers trace_headers_of(const Headers& headers) {
    Headers kept;
    for (const char* const name : {traceparent_header, tracestate_header})
        if (const auto at = headers.find(name); at != headers.end()) kept.insert(*at);
    return kept;
}

}  // namespace postroom
