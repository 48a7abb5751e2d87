// Subject: one store that lives through a history, and tells what can be seen of it.
//
// Work-item ids and lease ids differ between stores, so a subject speaks of messages by the ids
// that the history gave them, and keeps the leases it was granted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "postroom/store.hpp"
#include "property/step.hpp"
#include "property/world.hpp"

namespace postroom::test {

// What a step did with time: the runner then lets some pass in every world alike.
struct Seen {
    std::string text;
    bool time_passes = false;
};

class Subject {
public:
    Subject(std::string name, std::unique_ptr<World> world)
        : name_(std::move(name)), world_(std::move(world)) {}

    const std::string& name() const { return name_; }
    World& world() { return *world_; }

    // Takes the step and tells what came back.
    Seen take(const Step& step);

    // Every message with everything that must be the same in every store.
    std::string snapshot();

    // Ends an open transaction as its begin said; afterwards none is open.
    void end_transaction();
    bool in_transaction() const { return transaction_ != nullptr; }

private:
    using Granted =
        std::map<std::string, std::vector<Lease>>;  // by name of the message, oldest first

    Store& store() { return world_->store(); }
    Granted& granted(Queue queue) {
        return queue == Queue::outbox ? outbox_leases_ : inbox_leases_;
    }

    std::string enqueue(const Step& step, std::size_t count, bool born);
    bool has_heard_of(const InboxKey& key);
    std::string receive(const Step& step, std::size_t count);
    std::string see(const Step& step);
    std::string mark(const Step& step);
    std::string claim(const Step& step, Duration lease);
    std::string nibble(const Step& step);
    std::string settle(const Step& step, std::size_t count);
    std::string extend(const Step& step, Duration lease);
    std::string redrive(const Step& step);
    std::string purge(const Step& step);

    NewMessage new_message(const Step& step, unsigned number);
    std::optional<Lease> choose_lease(Queue queue, unsigned which, unsigned version);

    const std::string name_;
    std::unique_ptr<World> world_;
    std::unique_ptr<Transaction> transaction_;
    bool commits_ = false;
    unsigned made_ = 0;
    Granted outbox_leases_;
    Granted inbox_leases_;
    std::map<std::string, WorkItemId> outbox_ids_;
};

}  // namespace postroom::test
