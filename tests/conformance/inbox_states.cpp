#include "conformance/inbox_states.hpp"

#include <chrono>
#include <stdexcept>

namespace postroom::test {

std::string to_string(Situation situation) {
    switch (situation) {
        case Situation::absent:
            return "absent";
        case Situation::seen:
            return "seen";
        case Situation::marked:
            return "marked";
        case Situation::ready:
            return "ready";
        case Situation::retrying:
            return "retrying";
        case Situation::leased:
            return "leased";
        case Situation::done:
            return "done";
        case Situation::done_unqueued:
            return "done_unqueued";
        case Situation::dead:
            return "dead";
        case Situation::dead_unqueued:
            return "dead_unqueued";
    }
    throw std::logic_error("no such situation");
}

State state_of(Situation situation) {
    switch (situation) {
        case Situation::absent:
            break;
        case Situation::seen:
            return State::seen;
        case Situation::marked:
        case Situation::ready:
        case Situation::retrying:
            return State::ready;
        case Situation::leased:
            return State::in_progress;
        case Situation::done:
        case Situation::done_unqueued:
            return State::done;
        case Situation::dead:
        case Situation::dead_unqueued:
            return State::dead;
    }
    throw std::logic_error("an absent message has no state");
}

namespace {

void enqueue(const Inbox& inbox, const InboxKey& key) {
    inbox.enqueue({.topic = "old",
                   .source = key.source,
                   .message_id = key.message_id,
                   .payload = "old",
                   .hash = "old"});
}

// Claims exactly this message; nothing else may be claimable.
std::vector<Lease> claim_only(const Inbox& inbox, const OwnerToken& owner, const InboxKey& key) {
    using namespace std::chrono_literals;
    const std::vector<Message> claimed = inbox.claim(owner, 5min, 10);
    if (claimed.size() != 1 || claimed[0].message_id.str() != key.message_id)
        throw std::logic_error("expected to claim " + key.message_id + " alone");
    return {*claimed[0].lease};
}

}  // namespace

void bring(const Inbox& inbox, const OwnerToken& owner, const InboxKey& key, Situation situation) {
    using namespace std::chrono_literals;
    switch (situation) {
        case Situation::absent:
            return;
        case Situation::seen:
            (void)inbox.already_processed(key, "old");
            return;
        case Situation::marked:
            (void)inbox.already_processed(key, "old");
            inbox.mark_processing(key);
            return;
        case Situation::ready:
            enqueue(inbox, key);
            return;
        case Situation::retrying:
            enqueue(inbox, key);
            inbox.abandon(claim_only(inbox, owner, key), "busy", 1h);
            return;
        case Situation::leased:
            enqueue(inbox, key);
            claim_only(inbox, owner, key);
            return;
        case Situation::done:
            enqueue(inbox, key);
            inbox.ack(claim_only(inbox, owner, key));
            return;
        case Situation::done_unqueued:
            (void)inbox.already_processed(key, "old");
            inbox.mark_processed(key);
            return;
        case Situation::dead:
            enqueue(inbox, key);
            inbox.fail(claim_only(inbox, owner, key), "broken");
            return;
        case Situation::dead_unqueued:
            (void)inbox.already_processed(key, "old");
            inbox.mark_dead(key, "broken");
            return;
    }
}

}  // namespace postroom::test
