// LeaseGroups: leases sorted into groups of one lease id, as the array units take them.
//
// A unit for several rows names one lease id: pairs of arrays would let a stale lease of one row
// pass with the fresh lease of another. Rows go in order of seq, so that everybody locks them in
// the same order; a row that is given twice counts once.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/message.hpp"
#include "sql/runner.hpp"

namespace postroom::sql {

struct LeasedRow {
    std::int64_t seq;
    std::int64_t nonce;
    std::size_t index;  // of the caller

    friend auto operator<=>(const LeasedRow&, const LeasedRow&) = default;
};

// How many of `rows`, which are in order, have numbers without a gap from the first one on. 0: too
// few to be dealt with together.
std::size_t run_length(std::span<const LeasedRow> rows);

// How many of `rows` are the first one, given again.
std::size_t same_length(std::span<const LeasedRow> rows);

// RowRun: rows as a range of numbers, for engines without arrays. In `nonces` the nonce of the row
// first + i stands at the byte width * i, the highest byte first.
class RowRun {
public:
    static constexpr std::size_t width = 8;

    explicit RowRun(std::span<const LeasedRow> rows);

    // :first, :last and :nonces
    void set(Params& params) const;

private:
    std::int64_t first_;
    std::int64_t last_;
    std::string nonces_;
};

class LeaseGroups {
public:
    // `index` is what each() reports for this lease.
    void add(std::size_t index, const Lease& lease) {
        Group& group = groups_[lease.lease_id];
        group.owner = lease.owner;
        group.rows.push_back({static_cast<std::int64_t>(lease.id.seq()),
                              static_cast<std::int64_t>(lease.id.nonce()), index});
    }

    // How the rows of a group are dealt with. nullptr or no statements: not in this way.
    struct Ways {
        const Unit* many = nullptr;  // once for the group, with seqs and nonces
        const Unit* run = nullptr;   // for rows without a gap, see RowRun
        const Unit* one = nullptr;   // for each row that is left, with seq and nonce
    };

    // Adds units to `batch`, with tags from `first_tag` on and the parameters lease_id, owner and
    // owner_text set beside those of the way; `fill` sets the others. A row that is alone in its
    // group prefers `one`. This object must outlive the run.
    template <class Fill>
    void add_to(Batch& batch, const Ways& ways, std::size_t first_tag, Fill fill) {
        for (auto& [lease_id, group] : groups_) {
            group.prepare();
            const auto add = [&, id = lease_id, &of = group](const Unit& unit,
                                                             Rows rows) -> Params& {
                Params& params = batch.add(unit, first_tag + units_.size());
                units_.push_back(rows);
                params.reserve(8);
                params.set("lease_id", id.value()).set("owner", of.owner.uuid());
                params.set("owner_text", std::string_view(of.owner_text));
                fill(params);
                return params;
            };
            Rows left(group.rows);
            if (usable(ways.many) && !(left.size() == 1 && usable(ways.one))) {
                group.make_arrays();
                add(*ways.many, left)
                    .set("seqs", IntArray(group.seqs))
                    .set("nonces", IntArray(group.nonces));
                continue;
            }
            while (!left.empty()) {
                const std::size_t length = usable(ways.run) ? run_length(left) : 0;
                const Rows rows = left.first(length > 0 ? length : same_length(left));
                if (length > 0) {
                    group.runs.emplace_back(rows).set(add(*ways.run, rows));
                } else {
                    add(*ways.one, rows).set("seq", rows[0].seq).set("nonce", rows[0].nonce);
                }
                left = left.subspan(rows.size());
            }
        }
    }

    // Adds `unit` to `batch` once for all of them, with the parameters rows (see
    // AckTexts::rows) and owner set, if it has statements and there is more than one group;
    // else returns false, as it does for several owners and for a row that comes with two leases.
    template <class Fill>
    bool add_together(Batch& batch, const Unit& unit, std::size_t tag, Fill fill) {
        if (!usable(&unit) || groups_.size() < 2 || !merge()) return false;
        Params& params = batch.add(unit, tag);
        params.set("rows", std::string_view(text_)).set("owner", together_.owner.uuid());
        fill(params);
        units_.emplace_back(together_.rows);
        return true;
    }

    // Calls `found` with every index that was added for the row that the unit with this position
    // has yielded: its seq, or NULL for all rows of the unit.
    template <class Found>
    void each(std::size_t position, const Row& row, Found found) const {
        const Rows rows = units_[position];
        if (row.null(0)) {
            for (const LeasedRow& r : rows) found(r.index);
            return;
        }
        const std::int64_t seq = row.integer(0);
        auto at = std::lower_bound(rows.begin(), rows.end(), seq,
                                   [](const LeasedRow& r, std::int64_t s) { return r.seq < s; });
        for (; at != rows.end() && at->seq == seq; ++at) found(at->index);
    }

private:
    using Rows = std::span<const LeasedRow>;

    static bool usable(const Unit* unit) { return unit != nullptr && !unit->statements.empty(); }

    struct Group {
        OwnerToken owner;
        std::string owner_text;
        std::vector<LeasedRow> rows;
        std::vector<std::int64_t> seqs;
        std::vector<std::int64_t> nonces;
        std::deque<RowRun> runs;

        void prepare();
        void make_arrays();
    };

    bool merge();

    std::map<LeaseId, Group> groups_;
    Group together_;
    std::string text_;
    std::vector<Rows> units_;  // the rows of each unit that was added
};

}  // namespace postroom::sql
