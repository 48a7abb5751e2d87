#include "chaos/history.hpp"

namespace postroom::test {

torture::Stored stored(ChaosDatabase& database) {
    torture::Stored stored;
    for (const auto& row :
         database.sql("SELECT message_id, status FROM " + database.table("outbox")))
        stored.states[row.at(0).value()].push_back(
            static_cast<State>(std::stoi(row.at(1).value())));
    for (const auto& row : database.sql("SELECT id FROM business_order"))
        stored.orders.insert(row.at(0).value());
    return stored;
}

std::vector<std::string> History::broken_promises(ChaosDatabase& database) const {
    return torture::History::broken_promises(stored(database));
}

std::uint64_t History::lost(ChaosDatabase& database) const {
    return torture::History::lost(stored(database));
}

}  // namespace postroom::test
