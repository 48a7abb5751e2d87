// What is due in a store and was not delivered, for a relay that is about to end.
#pragma once

#include <vector>

#include "admin/explain.hpp"
#include "postroom/store.hpp"

namespace postroom::daemon {

// Messages of the outbox that nothing keeps from being delivered at this moment: their time has
// come, they are the first of their ordering key, their topic is not paused, `routed` has a place
// for them, and nobody holds them. Not all of them where there are very many, but some.
std::vector<WorkItemId> due_left(Store& store, const admin::IsRouted& routed);

}  // namespace postroom::daemon
