#include "sql/message_params.hpp"

namespace postroom::sql {

namespace {

// The value of a member, as the kind of its field wants it.
class ToValue {
public:
    explicit ToValue(const std::string& headers) : headers_(headers) {}

    Value operator()(FieldIndex index, const std::string& text) const {
        return text_value(index, text);
    }
    Value operator()(FieldIndex, const TopicName& name) const { return name.view(); }
    Value operator()(FieldIndex, const AggregateType& name) const { return name.view(); }
    Value operator()(FieldIndex, const MessageId& id) const { return std::string_view(id.str()); }
    Value operator()(FieldIndex, const std::optional<std::string>& bytes) const {
        return bytes ? Value{BlobView{*bytes}} : Value{};
    }
    Value operator()(FieldIndex index, const Headers&) const { return text_value(index, headers_); }
    Value operator()(FieldIndex, const std::optional<Instant>& time) const {
        return time ? Value{*time} : Value{};
    }
    Value operator()(FieldIndex, std::int32_t number) const { return std::int64_t{number}; }
    Value operator()(FieldIndex, const std::optional<std::uint32_t>& number) const {
        return number ? Value{std::int64_t{*number}} : Value{};
    }

private:
    static Value text_value(FieldIndex index, const std::string& text) {
        if (text.empty() && field_of(index).kind != FieldKind::word) return {};
        return std::string_view(text);
    }

    const std::string& headers_;
};

template <class SomeMessage>
void set_fields(Params& params, const SomeMessage& message, FieldSet set,
                const std::string& headers, std::int64_t nonce) {
    const ToValue to_value(headers);
    params.reserve(24);  // with those that are not fields
    params.set(field_of(FieldIndex::nonce).name, nonce);
    visit_fields(message, [&](FieldIndex index, const auto& member) {
        const Field& field = field_of(index);
        if (field.is_in(set)) params.set(field.name, to_value(index, member));
    });
}

}  // namespace

bool needs_enqueue(const NewMessage& message) {
    return !message.idempotency_key.empty() || message.due_time.has_value() ||
           !message.ordering_key.empty() || message.priority < 0;
}

bool is_bare(const NewMessage& message) {
    static const NewMessage nothing_given;
    bool bare = true;
    visit_shared_fields(message, nothing_given,
                        [&](FieldIndex index, const auto& given, const auto& nothing) {
                            if (!field_of(index).is_in(in_bare)) bare = bare && given == nothing;
                        });
    return bare;
}

void set_born(Params& params, const BornLease* born) {
    if (born == nullptr) {
        params.set("born_owner", {}).set("born_lease_id", {}).set("born_us", {});
        return;
    }
    params.set("born_owner", born->owner.uuid())
        .set("born_lease_id", born->lease_id.value())
        .set("born_us", born->lease.count());
}

void set_message(Params& params, const OutboxRow& row, FieldSet set) {
    set_fields(params, *row.message, set, row.headers, row.nonce);
}

void set_schedule(Params& params, const NewMessage& message) {
    params.set_text_or_null("key", message.idempotency_key)
        .set_or_null("due_time", message.due_time);
}

void set_received(Params& params, const ReceivedMessage& message, const std::string& headers,
                  std::int64_t nonce) {
    set_fields(params, message, in_receive, headers, nonce);
}

OutboxColumns::OutboxColumns(std::span<const OutboxRow* const> rows, FieldSet set) {
    for (const OutboxRow* row : rows) {
        const ToValue to_value(row->headers);
        add(FieldIndex::nonce, row->nonce);
        visit_fields(*row->message, [&](FieldIndex index, const auto& member) {
            if (field_of(index).is_in(set)) add(index, to_value(index, member));
        });
    }
}

void OutboxColumns::add(FieldIndex index, const Value& value) {
    const auto append = [&]<class Elements>(Elements, auto element) {
        Column& column = columns_[static_cast<std::size_t>(index)];
        if (!std::holds_alternative<Elements>(column)) column = Elements{};
        std::get<Elements>(column).push_back(element);
    };
    switch (field_of(index).kind) {
        case FieldKind::integer: {
            // Zero stands for none: integer arrays hold no NULL.
            const auto* const number = std::get_if<std::int64_t>(&value);
            return append(Integers{}, number != nullptr ? *number : 0);
        }
        case FieldKind::bytes:
            return append(Blobs{}, std::get<BlobView>(value));
        case FieldKind::time: {
            const auto* const time = std::get_if<Instant>(&value);
            return append(Times{}, time != nullptr ? std::optional(*time) : std::nullopt);
        }
        default: {
            const auto* const text = std::get_if<std::string_view>(&value);
            return append(Texts{}, text != nullptr ? std::optional(*text) : std::nullopt);
        }
    }
}

void OutboxColumns::set(Params& params) const {
    params.reserve(24);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::string_view name = message_fields[i].name;
        if (const auto* integers = std::get_if<Integers>(&columns_[i]))
            params.set(name, IntArray(*integers));
        else if (const auto* texts = std::get_if<Texts>(&columns_[i]))
            params.set(name, TextArray(*texts));
        else if (const auto* blobs = std::get_if<Blobs>(&columns_[i]))
            params.set(name, BlobArray(*blobs));
        else if (const auto* times = std::get_if<Times>(&columns_[i]))
            params.set(name, TimeArray(*times));
    }
}

}  // namespace postroom::sql
