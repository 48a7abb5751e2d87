#include "sql/message_row.hpp"

#include <array>

#include "base/json_map.hpp"
#include "queue/message_fields.hpp"

namespace postroom::sql {

namespace {

constexpr auto row_positions = [] {
    std::array<int, message_fields.size()> out{};
    int position = 0;
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = message_fields[i].is_in(in_row) ? position++ : -1;
    return out;
}();

constexpr int position_of(FieldIndex index) {
    return row_positions[static_cast<std::size_t>(index)];
}

// Reads one column into the member that belongs to it.
class Reader {
public:
    // What cannot be read is told in `unreadable`.
    Reader(const Row& row, Content content, std::string& unreadable)
        : row_(row), content_(content), unreadable_(unreadable) {}

    template <class Member>
    void operator()(FieldIndex index, Member& member) const {
        const bool is_content = index == FieldIndex::payload || index == FieldIndex::headers;
        if (is_content && content_ == Content::left_out) return;
        if (field_of(index).is_in(in_row)) read(position_of(index), index, member);
    }

private:
    void read(int column, FieldIndex index, std::string& out) const {
        out = field_of(index).kind == FieldKind::bytes ? row_.blob(column) : row_.text(column);
    }
    void read(int column, FieldIndex, MessageId& out) const {
        out = MessageId(std::string(row_.text(column)));
    }
    void read(int column, FieldIndex, State& out) const {
        out = static_cast<State>(row_.integer(column));
    }
    void read(int column, FieldIndex, DeadReason& out) const {
        out = dead_reason_from(row_.text(column));
    }
    // A foreign writer may have stored headers that are not an object. Whoever looks at the message
    // sees them as they are, in a header of its own.
    void read(int column, FieldIndex, Headers& out) const {
        const std::string_view json = row_.null(column) ? "" : row_.text(column);
        if (json.empty()) return;
        if (auto parsed = base::map_from_json(json)) {
            out = *std::move(parsed);
        } else {
            out = {{"postroom-unreadable-headers", std::string(json)}};
            unreadable_ = "headers: not a JSON object, or nested too deeply";
        }
    }
    void read(int column, FieldIndex, Instant& out) const { out = row_.time(column); }
    void read(int column, FieldIndex, std::int32_t& out) const {
        out = static_cast<std::int32_t>(row_.integer(column));
    }
    void read(int column, FieldIndex, std::uint32_t& out) const {
        out = static_cast<std::uint32_t>(row_.integer(column));
    }
    template <class Given>
    void read(int column, FieldIndex index, std::optional<Given>& out) const {
        if (!row_.null(column)) read(column, index, out.emplace());
    }

    const Row& row_;
    const Content content_;
    std::string& unreadable_;
};

std::uint64_t unsigned_integer(const Row& row, FieldIndex index) {
    return static_cast<std::uint64_t>(row.integer(position_of(index)));
}

Lease read_lease(const Row& row, const Message& m) {
    return {.id = m.id,
            .lease_id = LeaseId(row.integer(position_of(FieldIndex::lease_id))),
            .owner = OwnerToken(row.uuid(position_of(FieldIndex::owner))),
            .locked_until = row.time(position_of(FieldIndex::locked_until)),
            .retry_count = m.retry_count};
}

}  // namespace

Message read_message(Queue queue, const Row& row, Content content) {
    Message m;
    m.id = WorkItemId(unsigned_integer(row, FieldIndex::seq),
                      unsigned_integer(row, FieldIndex::nonce));
    m.queue = queue;
    visit_fields(m, Reader(row, content, m.unreadable));
    note_occurrence(m);
    if (!row.null(position_of(FieldIndex::lease_id))) m.lease = read_lease(row, m);
    return m;
}

bool payload_is_left_out(const Row& row) { return row.null(position_of(FieldIndex::payload)); }

std::size_t content_bytes(const Row& row) {
    return row.blob(position_of(FieldIndex::payload)).size() +
           row.text(position_of(FieldIndex::headers)).size();
}

}  // namespace postroom::sql
