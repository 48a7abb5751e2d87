// History: what the journals of all children say, held against what a database has in the end.
#pragma once

#include "chaos/chaos_test.hpp"
#include "torture/history.hpp"

namespace postroom::test {

// Read on a connection that has nothing to do with the library.
torture::Stored stored(ChaosDatabase& database);

class History : public torture::History {
public:
    using torture::History::History;

    // One line for each promise that `database`, drained by now, does not keep.
    std::vector<std::string> broken_promises(ChaosDatabase& database) const;
    // Confirmed messages that `database` does not have.
    std::uint64_t lost(ChaosDatabase& database) const;
};

}  // namespace postroom::test
