// Every situation an inbox message can be in, and how it gets there.
#pragma once

#include <string>
#include <vector>

#include "postroom/inbox.hpp"

namespace postroom::test {

enum class Situation {
    absent,
    seen,           // checked, never enqueued
    marked,         // seen, then marked processing: there is nothing to claim
    ready,          // enqueued
    retrying,       // abandoned, its next attempt an hour away
    leased,         // claimed
    done,           // acked
    done_unqueued,  // seen, then marked processed
    dead,           // failed
    dead_unqueued,  // seen, then marked dead
};

inline const std::vector<Situation> all_situations{
    Situation::absent,   Situation::seen,          Situation::marked, Situation::ready,
    Situation::retrying, Situation::leased,        Situation::done,   Situation::done_unqueued,
    Situation::dead,     Situation::dead_unqueued,
};

std::string to_string(Situation situation);

// The state in which find() shows it; not for absent.
State state_of(Situation situation);

// Brings the message `key` into `situation`, starting from absent; with topic "old" and payload
// "old".
void bring(const Inbox& inbox, const OwnerToken& owner, const InboxKey& key, Situation situation);

}  // namespace postroom::test
