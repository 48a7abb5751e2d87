// AckPlan: which of a backend's ways to ack (AckTexts in dialect.hpp) takes which leases.
//
// Messages of several leases go together where the backend has a text for that. Else each lease
// goes by itself: as a group where there is a text for groups, but for a message that comes alone
// and has a text of its own; else in runs of numbers without a gap, and one by one.
#pragma once

#include <cstddef>

#include "sql/compiled.hpp"
#include "sql/lease_groups.hpp"

namespace postroom::sql {

class AckPlan {
public:
    // `units` must outlive this.
    AckPlan(const AckUnits& units, bool keep_history)
        : units_(units), keep_history_(keep_history) {}

    // `index` is what each() reports for this lease.
    void add(std::size_t index, const Lease& lease) { groups_.add(index, lease); }

    // Adds the units to `batch`, with tags from `first_tag` on. This object must outlive the run.
    void add_to(Batch& batch, std::size_t first_tag, bool relaxed);

    // Calls `found` with every index that the row of the unit with this position stands for.
    template <class Found>
    void each(std::size_t position, const Row& row, Found found) const {
        groups_.each(position, row, found);
    }

private:
    const AckUnits& units_;
    const bool keep_history_;
    LeaseGroups groups_;
};

}  // namespace postroom::sql
