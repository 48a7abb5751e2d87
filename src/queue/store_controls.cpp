#include "postroom/store_controls.hpp"

#include "postroom/table_adoption.hpp"

namespace postroom {

StoreControls* controls_of(Store& store) { return dynamic_cast<StoreControls*>(&store); }
TableAdoption* adoption_of(Store& store) { return dynamic_cast<TableAdoption*>(&store); }

const OwnerToken& discard_owner() {
    static const OwnerToken owner{Uuid::parse("d15ca4d0-0000-4000-8000-000000000000").value()};
    return owner;
}

bool was_discarded(const Message& message) {
    return message.state == State::done && message.processed_by == discard_owner().to_string();
}

}  // namespace postroom
