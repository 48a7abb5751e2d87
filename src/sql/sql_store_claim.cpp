// SqlStore: claim.
//
// Messages are leased in one transaction and read after it. A read that fails says nothing about
// the others of the claim: then they are read one by one, and only what cannot be read alone is
// handed out as unreadable. What nobody could read, because the database was gone by then, is
// released by the next claim, so that it does not count as lost: it was never handed out. Where
// nobody knows whether the claim was made, it may be made later: claims look for it until its
// leases would be over.
#include <algorithm>
#include <chrono>
#include <exception>
#include <new>

#include "base/utf8.hpp"
#include "postroom/error.hpp"
#include "queue/claim_passes.hpp"
#include "queue/message_fields.hpp"
#include "sql/claimed_rows.hpp"
#include "sql/names.hpp"
#include "sql/sql_store.hpp"

namespace postroom::sql {

namespace {

using SteadyClock = std::chrono::steady_clock;

// More leases than this without an answer are an outage; their messages come back when they end.
constexpr std::size_t unread_claims_max = 16;
// Between two looks for claims that may still come.
constexpr std::chrono::seconds unread_look_interval{1};

// A message that a claim has room for may be larger than this store would take: others have limits
// of their own.
ClaimBytes most_bytes(const ClaimRequest& request, const Limits& limits) {
    return {
        .in_all = request.bytes,
        .of_one = std::max(request.bytes, limits.max_payload_bytes + headers_text_bytes(limits))};
}

void set_passes(Params& params, const ClaimPasses& passes) {
    params.set("urgent_to", std::int64_t{passes.urgent})
        .set("keyed_to", std::int64_t{passes.keyed})
        .set("due_to", std::int64_t{passes.due})
        .set("low_to", std::int64_t{passes.low})
        .set("keyed_again_to", std::int64_t{passes.keyed_again});
}

// It says something about the database and this moment, nothing about the message.
bool may_pass(const std::exception& error) {
    const auto* const told = dynamic_cast<const Error*>(&error);
    return told != nullptr && told->kind() != ErrorKind::rejected &&
           told->kind() != ErrorKind::misuse;
}

}  // namespace

std::vector<Message> SqlStore::claim(Queue queue, const ClaimRequest& request,
                                     std::stop_token stop) {
    if (stop.stop_requested()) return {};
    if (queue == Queue::outbox) guard_.before_claim(runner_, [this] { return now(); });
    release_unread();
    const LeaseId lease_id{static_cast<std::int64_t>(random_.next())};
    ClaimedRows rows(queue, request.batch, most_bytes(request, limits()));
    try {
        lease_and_read(queue, request, lease_id, rows, stop);
    } catch (const std::exception& error) {
        rows.clear();
        // Where nothing is leased, the claim itself has failed.
        if (stop.stop_requested() || !read_singly(queue, request, lease_id, rows)) {
            note_unread(queue, request, lease_id, error);
            throw;
        }
    }
    try {
        release(queue, rows.beyond());
    } catch (const std::exception& error) {
        note_unread(queue, request, lease_id, error);  // nobody was handed anything
        throw;
    }
    return rows.take();
}

void SqlStore::lease_and_read(Queue queue, const ClaimRequest& request, LeaseId lease_id,
                              ClaimedRows& rows, const std::stop_token& stop) {
    const Unit& unit = units_.of(queue).claim;
    const std::uint64_t number = claims_.fetch_add(1, std::memory_order_relaxed);
    const ClaimBytes most = most_bytes(request, limits());
    Batch batch;
    Params& params = batch.add(unit);
    params.set("owner", request.owner.uuid())
        .set("lease_id", lease_id.value())
        .set("lease_us", request.lease.count())
        .set("batch", std::int64_t{request.batch})
        .set("bytes", static_cast<std::int64_t>(most.in_all))
        .set("bytes_of_one", static_cast<std::int64_t>(most.of_one));
    set_passes(params, claim_passes(request.batch, number));
    runner_.run(
        nullptr, batch, unit.separate, [&] { rows.clear(); },
        [&](std::size_t, const Row& row) { rows.add(row); }, stop);
}

bool SqlStore::read_singly(Queue queue, const ClaimRequest& request, LeaseId lease_id,
                           ClaimedRows& rows) {
    try {
        const std::vector<WorkItemId> held = held_under(queue, lease_id);
        const Instant until = held.empty() ? Instant{} : now() + request.lease;
        for (const WorkItemId& id : held) {
            Message labels;
            labels.id = id;
            labels.queue = queue;
            labels.lease = Lease{
                .id = id, .lease_id = lease_id, .owner = request.owner, .locked_until = until};
            read_one(std::move(labels), rows);
        }
        return !held.empty();
    } catch (const std::exception&) {
        return false;  // what led here is the error to report
    }
}

// What it is known by first: the content may be what cannot be read.
void SqlStore::read_one(Message labels, ClaimedRows& rows) {
    const auto leased = [&](const std::vector<Message>& found) {
        return !found.empty() && found.front().lease &&
               found.front().lease->lease_id == labels.lease->lease_id;
    };
    try {
        std::vector<Message> found =
            find(labels.queue, {.ids = {labels.id}, .limit = 1, .payloads = false});
        if (!leased(found)) return;
        labels = std::move(found.front());
        const std::uint64_t bytes = labels.payload_bytes() + content_bytes(labels);
        labels.payload_left_out.reset();
        labels.headers.clear();
        if (!rows.takes(bytes)) return rows.turn_away(std::move(labels), bytes);
        found = find(labels.queue, {.ids = {labels.id}, .limit = 1});
        if (leased(found)) rows.add(std::move(found.front()));
    } catch (const std::bad_alloc&) {
        rows.leave(*labels.lease);
    } catch (const std::exception& error) {
        // Unless the database is gone altogether, it is this message, or it may pass.
        now();
        if (may_pass(error)) return rows.leave(*labels.lease);
        rows.add_unreadable(std::move(labels), base::sanitize_utf8(error.what()));
    }
}

std::vector<WorkItemId> SqlStore::held_under(Queue queue, LeaseId lease_id) {
    const Unit& unit = units_.of(queue).held;
    Batch batch;
    batch.add(unit).set("lease_id", lease_id.value());
    std::vector<WorkItemId> ids;
    runner_.run(
        nullptr, batch, false, [&] { ids.clear(); },
        [&](std::size_t, const Row& row) {
            ids.emplace_back(static_cast<std::uint64_t>(row.integer(0)),
                             static_cast<std::uint64_t>(row.integer(1)));
        });
    return ids;
}

void SqlStore::release(Queue queue, const std::vector<Lease>& leases) {
    std::vector<Settlement> settlements;
    for (const Lease& lease : leases)
        settlements.push_back({.lease = lease, .outcome = Outcome::release});
    if (!settlements.empty()) settle(nullptr, queue, settlements);
}

void SqlStore::note_unread(Queue queue, const ClaimRequest& request, LeaseId lease_id,
                           const std::exception& error) {
    UnreadClaim claim{.queue = queue, .lease_id = lease_id};
    if (may_pass(error))
        claim.until = SteadyClock::now() + options_.statement_timeout + request.lease;
    keep_unread(claim, {});
}

void SqlStore::keep_unread(const UnreadClaim& claim, SteadyClock::time_point look_at) {
    const base::MutexLock lock(unread_mutex_);
    unread_look_ = look_at;
    unread_.push_back(claim);
    if (unread_.size() > unread_claims_max) unread_.erase(unread_.begin());
}

// None as long as it is too early to look again.
std::vector<SqlStore::UnreadClaim> SqlStore::take_unread() {
    std::vector<UnreadClaim> unread;
    const base::MutexLock lock(unread_mutex_);
    if (unread_.empty() || SteadyClock::now() < unread_look_) return unread;
    unread.swap(unread_);
    return unread;
}

void SqlStore::release_unread() {
    std::vector<UnreadClaim> unread = take_unread();
    while (!unread.empty()) {
        const UnreadClaim claim = unread.back();
        std::vector<Lease> leases;
        try {
            for (const WorkItemId& id : held_under(claim.queue, claim.lease_id))
                leases.push_back({.id = id, .lease_id = claim.lease_id});
            release(claim.queue, leases);
        } catch (const std::exception&) {
            for (const UnreadClaim& left : unread) keep_unread(left, {});
            throw;
        }
        const SteadyClock::time_point now = SteadyClock::now();
        if (leases.empty() && now < claim.until) keep_unread(claim, now + unread_look_interval);
        unread.pop_back();
    }
}

}  // namespace postroom::sql
