#include "sql/packed_rows.hpp"

#include "base/json_writer.hpp"
#include "sql/utc_text.hpp"

namespace postroom::sql {

namespace {

void add_field(base::JsonObject& object, std::string_view name, const Value& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        object.add(name, *number);
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
        object.add(name, *text);
    } else if (const auto* time = std::get_if<Instant>(&value)) {
        object.add(name, utc_text(*time));
    }
}

}  // namespace

PackedRows::PackedRows(std::span<const OutboxRow* const> rows, FieldSet set) {
    std::uint64_t place = 0;
    for (const OutboxRow* row : rows) {
        Params params;
        set_message(params, *row, set);
        base::JsonObject object;
        for (const Field& field : message_fields)
            if (field.is_in(set)) add_field(object, field.name, params.at(field.name));
        const std::string_view payload = std::get<BlobView>(params.at("payload")).bytes;
        object.add("place", place++)
            .add("payload_at", payloads_.size() + 1)
            .add("payload_bytes", payload.size());
        if (messages_.size() > 1) messages_ += ',';
        messages_ += object.text();
        payloads_ += payload;
    }
    messages_ += ']';
}

void PackedRows::set(Params& params) const {
    params.set("messages", std::string_view(messages_)).set("payloads", BlobView{payloads_});
}

}  // namespace postroom::sql
