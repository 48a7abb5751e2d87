#include "queue/message_fields.hpp"

#include "queue/trace_headers.hpp"

namespace postroom {

namespace {

template <class To, class From>
void put(To& to, From&& from) {
    if constexpr (std::is_assignable_v<To&, From>)
        to = std::forward<From>(from);
    else if constexpr (requires { from.str(); })
        to = std::forward<From>(from).str();
    else if constexpr (requires { from.value(); })
        to = std::forward<From>(from).value();
    else
        to = To(std::forward<From>(from));
}

template <class From>
void copy_fields(From&& from, Message& to) {
    visit_shared_fields(std::forward<From>(from), to, [](FieldIndex, auto&& given, auto& kept) {
        put(kept, std::forward<decltype(given)>(given));
    });
}

template <class From>
Message copy_labels(const From& from) {
    Message out;
    visit_shared_fields(from, out, [](FieldIndex index, const auto& given, auto& kept) {
        const FieldKind kind = field_of(index).kind;
        if (kind == FieldKind::bytes || kind == FieldKind::headers) return;
        if (index != FieldIndex::last_error) put(kept, given);
    });
    out.headers = trace_headers_of(from.headers);
    return out;
}

// A message without a key of its own is known by its id.
template <class From>
Message outbox_form(From&& message) {
    Message out;
    copy_fields(std::forward<From>(message), out);
    if (out.idempotency_key.empty()) out.idempotency_key = out.message_id.str();
    return out;
}

}  // namespace

std::size_t header_bytes(const Headers& headers) {
    std::size_t bytes = 0;
    for (const auto& [name, value] : headers) bytes += name.size() + value.size();
    return bytes;
}

Message stored_form(const NewMessage& message) { return outbox_form(message); }
Message stored_form(NewMessage&& message) { return outbox_form(std::move(message)); }

std::size_t content_bytes(const Message& message) {
    return message.payload.size() + header_bytes(message.headers);
}
std::size_t content_bytes(const NewMessage& message) {
    return (message.payload ? message.payload->size() : 0) + header_bytes(message.headers);
}

Message labels_of(const NewMessage& message) { return copy_labels(message); }

Message labels_of(const Message& message) {
    Message out = copy_labels(message);
    out.id = message.id;
    out.queue = message.queue;
    out.lease = message.lease;
    return out;
}

void take_content(const ReceivedMessage& from, Message& to) { copy_fields(from, to); }

}  // namespace postroom
