#include "sql/ack_plan.hpp"

namespace postroom::sql {

void AckPlan::add_to(Batch& batch, std::size_t first_tag, bool relaxed) {
    const auto fill = [&](Params& params) {
        params.set("keep_history", std::int64_t{keep_history_ ? 1 : 0})
            .set("relaxed", std::int64_t{relaxed ? 1 : 0});
    };
    if (groups_.add_together(batch, units_.rows, first_tag, fill)) return;
    const auto chosen = [this](const AckUnits::Way& way) {
        return keep_history_ ? &way.kept : &way.plain;
    };
    groups_.add_to(batch,
                   {.many = &units_.group, .run = chosen(units_.run), .one = chosen(units_.one)},
                   first_tag, fill);
}

}  // namespace postroom::sql
