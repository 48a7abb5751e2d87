#include "suite/floors/floor.hpp"

namespace bench {

std::shared_ptr<FloorConnection> Floor::connection(int thread) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<FloorConnection>& found = connections_[thread];
    if (!found) found = connect();
    return found;
}

}  // namespace bench
