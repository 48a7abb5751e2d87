#include "sql/lease_groups.hpp"

#include <algorithm>

namespace postroom::sql {

void LeaseGroups::Group::make_arrays() {
    std::sort(rows.begin(), rows.end());
    for (const auto& [seq, nonce, index] : rows) {
        seqs.push_back(seq);
        nonces.push_back(nonce);
    }
}

}  // namespace postroom::sql
