#include "memory/memory_queue.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/utf8.hpp"
#include "memory/memory_claim.hpp"
#include "queue/message_fields.hpp"

namespace postroom {

namespace {

// Ready, and not before its time only because somebody put it back.
bool is_put_off(const Message& message, Instant now) {
    return message.state == State::ready && message.available_at > now &&
           message.available_at > message.due_time.value_or(now);
}

}  // namespace

State MemoryRow::state(Instant now) const {
    if (!dead() && message.lease && message.lease->locked_until > now) return State::in_progress;
    return message.state;
}

Message MemoryRow::shown(Instant now) const {
    Message copy = message;
    copy.state = state(now);
    return copy;
}

void MemoryRow::wait_until(Instant available_at) {
    message.state = State::ready;
    message.dead_reason = DeadReason::none;
    message.died_at.reset();
    message.available_at = std::min(available_at, message.expires_at.value_or(available_at));
    message.lease.reset();
    fresh = false;
    frees_key = false;
}

void MemoryRow::die(DeadReason reason, const std::string& error, Instant now, bool free_key) {
    frees_key = frees_key || (free_key && !message.ordering_key.empty());
    message.state = State::dead;
    message.dead_reason = reason;
    message.died_at = now;
    if (!error.empty()) message.last_error = error;
    message.lease.reset();
    fresh = false;
}

void MemoryRow::note_attempt(const Settlement& settlement, Instant now) {
    ++message.retry_count;
    if (attempts.size() == attempts_kept_max) attempts.erase(attempts.begin());
    attempts.push_back(
        {.at = now,
         .worker = settlement.lease.owner,
         .destination = settlement.destination,
         .outcome = settlement.outcome,
         .error = std::string(base::truncate_utf8(settlement.error, attempt_error_chars_max)),
         .claimed_at = settlement.claimed_at,
         .took = settlement.took});
}

void MemoryRow::revive(Instant available_at) {
    wait_until(available_at);
    message.retry_count = 0;
    message.lost_count = 0;
    message.last_error.clear();
}

void schedule_new(MemoryRow& row, Instant now) {
    const Instant due = row.message.due_time.value_or(now);
    row.fresh = due <= now && row.message.priority >= 0 && row.message.ordering_key.empty();
    row.message.available_at =
        row.fresh ? due : std::min(due, row.message.expires_at.value_or(due));
}

std::vector<Message> MemoryQueue::claim(const ClaimRequest& request, LeaseId lease_id,
                                        Instant now) {
    reap(rows_.size(), now);
    std::vector<Message> claimed;
    std::size_t bytes = 0;
    for (const std::uint64_t seq : choose_claim(rows_, request.batch, claim_count_++, now)) {
        MemoryRow& row = rows_.edit(seq);
        bytes += content_bytes(row.message);
        if (bytes > request.bytes && !claimed.empty()) {
            row.wait_until(now);
            continue;
        }
        row.message.lease = Lease{.id = row.message.id,
                                  .lease_id = lease_id,
                                  .owner = request.owner,
                                  .locked_until = now + request.lease,
                                  .retry_count = row.message.retry_count};
        claimed.push_back(row.shown(now));
    }
    return claimed;
}

bool MemoryQueue::stands(const Lease& lease) const {
    const MemoryRow* row = rows_.find(lease.id.seq());
    return row != nullptr && row->message.id == lease.id && row->message.lease &&
           row->message.lease->lease_id == lease.lease_id;
}

Settled MemoryQueue::settle(const Settlement& settlement, Instant now) {
    if (!stands(settlement.lease)) return Settled::lost;
    const std::uint64_t seq = settlement.lease.id.seq();
    switch (settlement.outcome) {
        case Outcome::ack:
            delivered(rows_.take(seq), settlement.lease.owner, now);
            return Settled::done;
        case Outcome::abandon:
            return abandon(settlement, now);
        case Outcome::fail:
            return fail(settlement, now);
        case Outcome::release:
            rows_.edit(seq).wait_until(now + settlement.delay);
            return Settled::ready;
    }
    POSTROOM_ASSERT(false && "an Outcome outside its enum");
    return Settled::lost;
}

Settled MemoryQueue::abandon(const Settlement& settlement, Instant now) {
    MemoryRow& row = rows_.edit(settlement.lease.id.seq());
    row.note_attempt(settlement, now);
    const std::uint32_t limit = row.message.max_attempts.value_or(settlement.max_attempts);
    if (limit > 0 && row.message.retry_count >= limit) {
        row.die(DeadReason::max_attempts, settlement.error, now, settlement.frees_key);
        return Settled::dead;
    }
    row.wait_until(now + settlement.delay);
    if (!settlement.error.empty()) row.message.last_error = settlement.error;
    return Settled::ready;
}

Settled MemoryQueue::fail(const Settlement& settlement, Instant now) {
    MemoryRow& row = rows_.edit(settlement.lease.id.seq());
    if (is_failed_attempt(settlement.outcome, settlement.reason)) row.note_attempt(settlement, now);
    row.die(settlement.reason, settlement.error, now, settlement.frees_key);
    return Settled::dead;
}

bool MemoryQueue::extend(const Lease& lease, Instant locked_until) {
    if (!stands(lease)) return false;
    rows_.edit(lease.id.seq()).message.lease->locked_until = locked_until;
    return true;
}

std::uint64_t MemoryQueue::reap(std::uint64_t limit, Instant now) {
    std::uint64_t count = 0;
    for (const auto& [seq, row] : rows_) {
        if (count == limit) break;
        if (!row.message.lease || row.message.lease->locked_until > now) continue;
        MemoryRow& lost = rows_.edit(seq);
        lost.wait_until(now);
        ++lost.message.lost_count;
        ++count;
    }
    return count;
}

bool MemoryQueue::redrive(const WorkItemId& id, Instant now) {
    const MemoryRow* row = rows_.find(id.seq());
    if (row == nullptr || row->message.id != id || !row->dead()) return false;
    rows_.edit(id.seq()).revive(now);
    return true;
}

bool MemoryQueue::retry_now(const WorkItemId& id, Instant now) {
    const MemoryRow* row = rows_.find(id.seq());
    if (row == nullptr || row->message.id != id || !is_put_off(row->shown(now), now)) return false;
    Message& message = rows_.edit(id.seq()).message;
    message.available_at = std::max(now, message.due_time.value_or(now));
    return true;
}

bool MemoryQueue::hold(const Lease& lease, Instant now) {
    const MemoryRow* row = rows_.find(lease.id.seq());
    if (row == nullptr || row->message.id != lease.id || row->state(now) == State::in_progress)
        return false;
    rows_.edit(lease.id.seq()).message.lease = lease;
    return true;
}

std::vector<FailedAttempt> MemoryQueue::attempts(const WorkItemId& id) const {
    const MemoryRow* row = rows_.find(id.seq());
    if (row == nullptr) row = delivered_row(id.seq());
    if (row == nullptr || row->message.id != id) return {};
    return row->attempts;
}

std::vector<Message> MemoryQueue::messages(Instant now) const {
    std::vector<Message> all;
    for (const auto& [seq, row] : rows_) all.push_back(row.shown(now));
    append_unqueued(all);
    std::stable_sort(all.begin(), all.end(),
                     [](const Message& a, const Message& b) { return a.id.seq() < b.id.seq(); });
    return all;
}

namespace {

bool matches_text(const Message& message, const Query& query) {
    bool matches = message.last_error.find(query.error_part) != std::string::npos;
    const auto require = [&](const std::optional<std::string>& wanted, std::string_view text) {
        if (wanted && *wanted != text) matches = false;
    };
    visit_shared_fields(query, message, [&](FieldIndex, const auto& wanted, const auto& found) {
        using Found = std::remove_cvref_t<decltype(found)>;
        if constexpr (std::is_same_v<Found, std::string>) {
            require(wanted, found);
        } else if constexpr (std::is_same_v<Found, MessageId>) {
            require(wanted, found.str());
        }
    });
    return matches;
}

bool matches(const Message& message, const Query& query, Instant now) {
    const bool failed =
        message.state == State::dead || (message.retry_count > 0 && message.state != State::done);
    if (query.failed && !failed) return false;
    if (query.put_off && !is_put_off(message, now)) return false;
    if (!query.ids.empty() &&
        std::find(query.ids.begin(), query.ids.end(), message.id) == query.ids.end())
        return false;
    if (query.owner && !(message.lease && message.lease->owner == *query.owner)) return false;
    if (!query.state.empty() && !query.state.contains(message.state)) return false;
    if (query.created_from && message.created_at < *query.created_from) return false;
    if (query.created_before && message.created_at >= *query.created_before) return false;
    if (query.before_seq > 0 && message.id.seq() >= query.before_seq) return false;
    // Zero does not restrict: messages that are not queued have no seq and are found too.
    if (query.after_seq > 0 && message.id.seq() <= query.after_seq) return false;
    return matches_text(message, query);
}

void leave_payload_out(Message& message) {
    message.payload_left_out = message.payload.size();
    message.payload.clear();
}

// The first of each ordering key that is dead or failed before, if there are later ones that wait.
std::set<std::uint64_t> blocking_seqs(const MemoryRows& rows) {
    std::map<std::string_view, const MemoryRow*> firsts;
    std::set<std::uint64_t> blocking;
    for (const auto& [seq, row] : rows) {
        if (!row.stands_in_line()) continue;
        const MemoryRow& first = *firsts.emplace(row.message.ordering_key, &row).first->second;
        const bool blocks = first.dead() || first.message.retry_count > 0;
        if (blocks && &first != &row && !row.dead()) blocking.insert(first.message.id.seq());
    }
    return blocking;
}

}  // namespace

std::vector<Message> MemoryQueue::find(const Query& query, Instant now) const {
    const std::set<std::uint64_t> blocking =
        query.blocking ? blocking_seqs(rows_) : std::set<std::uint64_t>{};
    std::vector<Message> found;
    std::vector<Message> all = messages(now);
    if (query.newest_first) std::reverse(all.begin(), all.end());
    for (Message& message : all) {
        if (found.size() == query.limit) break;
        if (query.blocking && !blocking.contains(message.id.seq())) continue;
        if (!matches(message, query, now)) continue;
        if (!query.payloads) leave_payload_out(message);
        found.push_back(std::move(message));
    }
    return found;
}

Counts MemoryQueue::counts(Instant now) const {
    Counts counts;
    for (const Message& message : messages(now)) {
        counts.dead += message.state == State::dead ? 1 : 0;
        counts.seen += message.state == State::seen ? 1 : 0;
        // An inbox message that was only marked as being processed is no work for anybody here.
        const bool queued = message.id != WorkItemId{};
        const bool ready = queued && message.state == State::ready;
        const bool in_progress = queued && message.state == State::in_progress;
        counts.ready += ready ? 1 : 0;
        counts.in_progress += in_progress ? 1 : 0;
        if (!ready && !in_progress) continue;
        counts.retrying += message.retry_count > 0 ? 1 : 0;
        counts.old_failures += message.retry_count >= old_failure_attempts_ ? 1 : 0;
        counts.oldest = std::min(counts.oldest.value_or(message.created_at), message.created_at);
    }
    return counts;
}

}  // namespace postroom
