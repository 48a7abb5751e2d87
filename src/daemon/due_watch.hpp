// DueWatch: knows when a relay has nothing to do any more, and what it could not do.
//
// A store is through when its claims find nothing, twice in a row and with no message settled in
// between: the first of the two may have begun before the last message freed the next of its
// ordering key. A store that fails is through too; that is told apart.
//
// Thread safety: may be shared.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "postroom/observer.hpp"

namespace postroom::daemon {

class DueWatch final : public Observer {
public:
    void observe(const Event& event) noexcept override;

    // Whether all of these stores are through.
    bool through(const std::set<std::string>& stores) const;
    // They are not, whatever their claims found so far.
    void look_again();

    // These of a store were due and nobody got them.
    void note_left(const std::string& store, const std::vector<WorkItemId>& ids);
    // How many messages were due and are not delivered: to be tried again, dead, given back, or
    // noted. One that is delivered later does not count.
    std::uint64_t left() const;
    bool any_failed() const;

private:
    static constexpr unsigned enough = 2;
    // Of messages that are known one by one; what comes beyond is counted.
    static constexpr std::size_t known_max = 100'000;

    void add_left(std::string_view store, const WorkItemId& id) POSTROOM_REQUIRES(mutex_);

    mutable base::Mutex mutex_;
    std::map<std::string, unsigned, std::less<>> empty_claims_ POSTROOM_GUARDED_BY(mutex_);
    std::set<std::string, std::less<>> failed_ POSTROOM_GUARDED_BY(mutex_);
    std::set<std::string, std::less<>> closed_ POSTROOM_GUARDED_BY(mutex_);  // of these: to claims
    std::set<std::pair<std::string, WorkItemId>> left_ POSTROOM_GUARDED_BY(mutex_);
    std::uint64_t left_unknown_ POSTROOM_GUARDED_BY(mutex_) = 0;
};

}  // namespace postroom::daemon
