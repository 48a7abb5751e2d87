#include "sql/lease_groups.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

namespace postroom::sql {

std::size_t run_length(std::span<const LeasedRow> rows) {
    constexpr std::size_t rows_min = 3;
    std::size_t length = 1;
    for (; length < rows.size(); ++length) {
        const LeasedRow& before = rows[length - 1];
        const LeasedRow& row = rows[length];
        // The same row twice counts once; two rows of one number cannot both be meant.
        const bool same = row.seq == before.seq && row.nonce == before.nonce;
        if (!same && row.seq != before.seq + 1) break;
    }
    return length < rows_min ? 0 : length;
}

std::size_t same_length(std::span<const LeasedRow> rows) {
    std::size_t length = 1;
    while (length < rows.size() && rows[length].seq == rows[0].seq &&
           rows[length].nonce == rows[0].nonce)
        ++length;
    return length;
}

RowRun::RowRun(std::span<const LeasedRow> rows)
    : first_(rows.front().seq),
      last_(rows.back().seq),
      nonces_(width * static_cast<std::size_t>(last_ - first_ + 1), '\0') {
    for (const LeasedRow& row : rows) {
        char* const at = nonces_.data() + width * static_cast<std::size_t>(row.seq - first_);
        for (std::size_t i = 0; i < width; ++i)
            at[i] = static_cast<char>(static_cast<std::uint64_t>(row.nonce) >> 8 * (width - 1 - i));
    }
}

void RowRun::set(Params& params) const {
    params.set("first", first_).set("last", last_).set("nonces", BlobView{nonces_});
}

void LeaseGroups::Group::prepare() {
    owner_text = owner.uuid().to_string();
    if (!std::is_sorted(rows.begin(), rows.end())) std::sort(rows.begin(), rows.end());
}

void LeaseGroups::Group::make_arrays() {
    for (const LeasedRow& row : rows) {
        seqs.push_back(row.seq);
        nonces.push_back(row.nonce);
    }
}

// Fills `together_` and `text_`.
bool LeaseGroups::merge() {
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> rows;  // seq, nonce, lease id
    together_.owner = groups_.begin()->second.owner;
    for (const auto& [lease_id, group] : groups_) {
        if (group.owner != together_.owner) return false;
        for (const LeasedRow& row : group.rows) {
            rows.emplace_back(row.seq, row.nonce, lease_id.value());
            together_.rows.push_back(row);
        }
    }
    std::sort(rows.begin(), rows.end());
    std::sort(together_.rows.begin(), together_.rows.end());
    const auto same_seq = [](const auto& a, const auto& b) {
        return std::get<0>(a) == std::get<0>(b);
    };
    if (std::adjacent_find(rows.begin(), rows.end(), same_seq) != rows.end()) return false;
    text_.assign(1, '[');
    for (const auto& [seq, nonce, lease_id] : rows)
        fmt::format_to(std::back_inserter(text_), "[{},{},{}],", seq, nonce, lease_id);
    text_.back() = ']';
    return true;
}

}  // namespace postroom::sql
