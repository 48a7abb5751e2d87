// The audit log: what operators changed.
#pragma once

#include <string>

#include "admin/bulk.hpp"
#include "admin/pauses.hpp"
#include "postroom/operator.hpp"

namespace postroom::admin {

// What a change was about, for people: the queue, and the filter in the words of its fields:
// "outbox topic='order.placed' state='dead'". Of many ids the first ten and how many more.
// `fingerprint`: of the group of dead letters, if it was about one.
std::string target_of(Queue queue, const Query& filter, const std::string& fingerprint = {});

// AuditTrail: the record of one change. An entry before it, with the outcome "begun", tells of it
// even where nobody lives to tell the end; another one after it tells how many and the outcome.
// Nothing happens for a store without controls.
//
// Thread safety: one thread.
class AuditTrail {
public:
    // `entry` has who, what and target. `store` must outlive this.
    AuditTrail(Store& store, AuditEntry entry);
    // What was begun and not ended has failed.
    ~AuditTrail();
    AuditTrail(const AuditTrail&) = delete;
    AuditTrail& operator=(const AuditTrail&) = delete;

    // Throws as the store does: what cannot be recorded is not to be done.
    void begin();
    // So many so far.
    void changed(std::uint64_t count) { entry_.count = count; }
    // Records nothing for what was not begun.
    void end(const std::string& outcome);

private:
    StoreControls* const desk_;
    AuditEntry entry_;
    bool open_ = false;
};

// Appends an entry in the name of `who`, unless nothing was to be changed.
void record(Store& store, const std::string& who, const PauseChange& change);

}  // namespace postroom::admin
