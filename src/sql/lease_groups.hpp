// LeaseGroups: leases sorted into groups of one lease id, as the array units take them.
//
// A unit for several rows names one lease id: pairs of arrays would let a stale lease of one row
// pass with the fresh lease of another. Rows go in order of seq, so that everybody locks them in
// the same order; a row that is given twice counts once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "postroom/message.hpp"
#include "sql/runner.hpp"

namespace postroom::sql {

class LeaseGroups {
public:
    // `index` is what each() reports for this lease.
    void add(std::size_t index, const Lease& lease) {
        Group& group = groups_[lease.lease_id];
        group.owner = lease.owner;
        group.rows.emplace_back(static_cast<std::int64_t>(lease.id.seq()),
                                static_cast<std::int64_t>(lease.id.nonce()), index);
    }

    // Adds `unit` to `batch` once for each group, with tags from `first_tag` on and the parameters
    // seqs, nonces, lease_id and owner set; `fill` sets the others. For a group of one row, `one`
    // is taken where it has statements, with seq and nonce set. This object must outlive the run.
    template <class Fill>
    void add_to(Batch& batch, const Unit& unit, const Unit& one, std::size_t first_tag, Fill fill) {
        for (auto& [lease_id, group] : groups_) {
            const bool single = group.rows.size() == 1 && !one.statements.empty();
            Params& params = batch.add(single ? one : unit, first_tag + in_order_.size());
            if (single) {
                params.set("seq", std::get<0>(group.rows.front()))
                    .set("nonce", std::get<1>(group.rows.front()));
            } else {
                group.make_arrays();
                params.set("seqs", IntArray(group.seqs)).set("nonces", IntArray(group.nonces));
            }
            params.set("lease_id", lease_id.value()).set("owner", group.owner.uuid());
            fill(params);
            in_order_.push_back(&group);
        }
    }

    // Calls `found` with every index that was added for row `seq` in the group with this position.
    template <class Found>
    void each(std::size_t position, std::int64_t seq, Found found) const {
        const auto& rows = in_order_[position]->rows;
        auto at =
            std::lower_bound(rows.begin(), rows.end(), seq,
                             [](const auto& row, std::int64_t s) { return std::get<0>(row) < s; });
        for (; at != rows.end() && std::get<0>(*at) == seq; ++at) found(std::get<2>(*at));
    }

private:
    struct Group {
        OwnerToken owner;
        std::vector<std::tuple<std::int64_t, std::int64_t, std::size_t>> rows;  // seq, nonce, index
        std::vector<std::int64_t> seqs;
        std::vector<std::int64_t> nonces;

        void make_arrays();
    };

    std::map<LeaseId, Group> groups_;
    std::vector<const Group*> in_order_;
};

}  // namespace postroom::sql
