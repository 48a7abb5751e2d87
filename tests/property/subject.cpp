#include "property/subject.hpp"
#include "queue/hot_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <set>

namespace postroom::test {

using namespace std::chrono_literals;

namespace {

constexpr Duration long_lease = 30min;
constexpr Duration short_lease = 1ms;
constexpr std::uint32_t everything = 1000;

const std::array<OwnerToken, 2>& owners() {
    static const std::array<OwnerToken, 2> both{
        OwnerToken(Uuid::parse("00000000-0000-4000-8000-00000000000a").value()),
        OwnerToken(Uuid::parse("00000000-0000-4000-8000-00000000000b").value())};
    return both;
}

// Bytewise different, however alike.
InboxKey inbox_key(unsigned number) {
    static constexpr std::array<const char*, 3> ids{"i", "I", "i "};
    return {.source = number % 2 == 0 ? "bank" : "Bank",
            .message_id = ids.at(number / 2 % ids.size())};
}

std::string name_of(const Message& message) {
    const std::string& id = message.message_id.str();
    return message.queue == Queue::outbox ? id : message.source + "/" + id;
}

std::string text_of(const std::optional<State>& state) {
    return state ? std::string(state_name(Queue::inbox, *state)) +
                       std::to_string(static_cast<int>(*state))
                 : "new";
}

std::string describe(const Message& m) {
    std::string text = fmt::format(
        "{} state={} topic={} payload={} key={} tenant={} correlation={} priority={} max={} "
        "retry={} "
        "lost={} error={} reason={} hash={} due={} processed={} by={} headers={} line={}",
        name_of(m), static_cast<int>(m.state), m.topic, m.payload, m.idempotency_key, m.tenant_id,
        m.correlation_id, m.priority, m.max_attempts.value_or(0), m.retry_count, m.lost_count,
        m.last_error, to_string(m.dead_reason), m.hash.value_or("-"), m.due_time.has_value(),
        m.processed_at.has_value(), m.processed_by, m.headers.size(), m.ordering_key);
    if (m.state == State::in_progress) text += " owner=" + m.lease.value().owner.to_string();
    return text;
}

std::string joined(std::vector<std::string> lines) {
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    return text;
}

Settlement settlement(const Lease& lease, unsigned number) {
    Settlement settlement{.lease = lease};
    settlement.outcome = static_cast<Outcome>(number % 4);
    const bool failed =
        settlement.outcome == Outcome::abandon || settlement.outcome == Outcome::fail;
    if (failed && number % 3 != 0) settlement.error = fmt::format("error {}", number);
    if (settlement.outcome == Outcome::abandon) {
        settlement.delay = number % 5 == 0 ? Duration{1h} : Duration{1ms};
        settlement.max_attempts = number % 7;
    }
    if (settlement.outcome == Outcome::fail && number % 8 < 4)
        settlement.reason = DeadReason::cancelled;
    settlement.frees_key = number % 3 == 1;
    return settlement;
}

}  // namespace

Seen Subject::take(const Step& step) {
    switch (step.verb) {
        case Verb::enqueue:
            return {enqueue(step, 1, false)};
        case Verb::enqueue_many:
            return {enqueue(step, 2 + step.c % 4, false)};
        case Verb::enqueue_born:
            return {enqueue(step, 1 + step.c % 2, true), true};
        case Verb::receive:
            return {receive(step, 1)};
        case Verb::receive_many:
            return {receive(step, 2 + step.c % 3)};
        case Verb::see:
            return {see(step)};
        case Verb::mark:
            return {mark(step)};
        case Verb::claim:
            return {claim(step, long_lease)};
        case Verb::claim_briefly:
            return {claim(step, short_lease), true};
        case Verb::nibble:
            return {nibble(step)};
        case Verb::settle:
            return {settle(step, 1), true};
        case Verb::settle_many:
            return {settle(step, 4), true};
        case Verb::extend:
            return {extend(step, long_lease)};
        case Verb::expire:
            return {extend(step, short_lease), true};
        case Verb::reap:
            return {std::to_string(store().reap(step.queue, everything))};
        case Verb::redrive:
            return {redrive(step)};
        case Verb::purge:
            return {purge(step)};
        case Verb::begin:
            transaction_ = store().begin();
            commits_ = step.a % 3 != 0;
            return {"begun"};
        case Verb::count_:
            break;
    }
    return {};
}

void Subject::end_transaction() {
    if (!transaction_) return;
    if (commits_)
        transaction_->commit();
    else
        transaction_->rollback();
    transaction_.reset();
}

NewMessage Subject::new_message(const Step& step, unsigned number) {
    const unsigned kind = step.a + number;
    NewMessage message{.topic = kind % 2 == 0 ? "order" : "Order",
                       .payload = std::to_string(made_)};
    message.message_id = MessageId(fmt::format("m{}", made_++));
    if (kind % 3 == 0) message.idempotency_key = fmt::format("key{}", step.b % 3);
    if (kind % 5 == 0) message.tenant_id = "tenant";
    if (kind % 7 == 0) message.priority = static_cast<std::int32_t>(step.b % 3) - 1;
    if (kind % 6 == 1) message.due_time = store().now() + (step.b % 2 == 0 ? -1h : 1h);
    if (kind % 4 == 0) message.max_attempts = 1 + step.c % 3;
    if (kind % 4 == 1) message.headers = {{"h", "1"}};
    if (kind % 4 == 2) message.correlation_id = "c";
    if (kind % 5 < 2) message.ordering_key = fmt::format("line{}", step.b % 2);
    return message;
}

std::string Subject::enqueue(const Step& step, std::size_t count, bool born) {
    std::vector<NewMessage> messages;
    for (unsigned i = 0; i < count; ++i) messages.push_back(new_message(step, i));
    BornLease lease{.owner = owners()[step.b % 2],
                    .lease_id = LeaseId(1000 + made_),
                    .lease = step.c % 3 == 0 ? short_lease : long_lease};
    if (born)  // such a message has none of these
        for (NewMessage& message : messages) {
            message.due_time.reset();
            message.idempotency_key.clear();
            message.ordering_key.clear();
            message.priority = std::max(message.priority, 0);
        }
    const std::vector<EnqueueResult> results =
        store().enqueue(transaction_.get(), messages, born ? &lease : nullptr);
    std::string text;
    for (const EnqueueResult& result : results) {
        const std::string& id = result.message_id.str();
        text += fmt::format("{} {} ", id, result.already_existed ? "again" : "new");
        if (result.already_existed) {
            if (outbox_ids_[id] != result.id) text += "with another id ";
        } else {
            outbox_ids_[id] = result.id;
            if (born)
                outbox_leases_[id].push_back(
                    {.id = result.id, .lease_id = lease.lease_id, .owner = lease.owner});
        }
    }
    return text;
}

bool Subject::has_heard_of(const InboxKey& key) {
    return !store()
                .find(Queue::inbox, {.message_id = key.message_id, .source = key.source})
                .empty();
}

std::string Subject::receive(const Step& step, std::size_t count) {
    std::vector<ReceivedMessage> messages;
    for (unsigned i = 0; i < count; ++i) {
        const unsigned kind = step.a + i * step.b;
        const InboxKey key = inbox_key(kind);
        ReceivedMessage message{.topic = kind % 2 == 0 ? "paid" : "Paid",
                                .source = key.source,
                                .message_id = key.message_id,
                                .payload = std::to_string(made_++)};
        if (step.c % 3 != 0) message.hash = fmt::format("hash{}", (step.c + i) % 2);
        if (step.b % 5 == 0) message.due_time = store().now() + (step.c % 2 == 0 ? -1h : 1h);
        if (step.b % 5 == 1) message.priority = static_cast<std::int32_t>(step.c % 3) - 1;
        if (step.b % 5 == 2) message.max_attempts = 1 + step.c % 3;
        if (step.a % 3 != 0) message.ordering_key = fmt::format("line{}", step.c % 2);
        messages.push_back(std::move(message));
    }
    // A database may number messages without an ordering key in the order of their own keys, and
    // those it has never heard of before the others. They may get an ordering key later: then the
    // numbers count.
    std::stable_sort(
        messages.begin(), messages.end(),
        [](const ReceivedMessage& x, const ReceivedMessage& y) { return x.key() < y.key(); });
    if (messages.front().ordering_key.empty() && !transaction_) {
        const bool known = has_heard_of(messages.front().key());
        std::erase_if(messages, [&](const ReceivedMessage& message) {
            return has_heard_of(message.key()) != known;
        });
    }
    std::string text;
    for (const ReceiveResult& result :
         store().receive(transaction_.get(), messages, step.b % 4 == 0))
        text += fmt::format("{} {} {}; ", text_of(result.previous),
                            result.hash_mismatch ? "mismatch" : "match",
                            result.id == WorkItemId{} ? "no id" : "id");
    return text;
}

std::string Subject::see(const Step& step) {
    std::optional<std::string> hash;
    if (step.b % 3 != 0) hash = fmt::format("hash{}", step.b % 2);
    const SeenResult result = store().see(transaction_.get(), inbox_key(step.a), hash);
    return text_of(result.previous) + (result.hash_mismatch ? " mismatch" : "");
}

std::string Subject::mark(const Step& step) {
    static constexpr std::array states{State::ready, State::done, State::dead};
    return text_of(store().mark(transaction_.get(), inbox_key(step.a),
                                states.at(step.b % states.size()),
                                step.c % 2 == 0 ? "" : "marked"));
}

// Everything there is: which of several messages a smaller claim picks is the store's own business.
std::string Subject::claim(const Step& step, Duration lease) {
    std::vector<std::string> lines;
    for (const Message& message : store().claim(
             step.queue, {.owner = owners()[step.a % 2], .lease = lease, .batch = everything})) {
        granted(step.queue)[name_of(message)].push_back(message.lease.value());
        // A short lease may have run out while the message was on its way.
        Message shown = message;
        shown.state = State::in_progress;
        lines.push_back(describe(shown) + fmt::format(" attempts={}", message.lease->retry_count));
    }
    return joined(std::move(lines));
}

std::string Subject::nibble(const Step& step) {
    const std::uint64_t reaped = store().reap(step.queue, everything);
    std::vector<Settlement> releases;
    for (const Message& message : store().claim(
             step.queue, {.owner = owners()[0], .lease = long_lease, .batch = 1 + step.a % 4}))
        releases.push_back({.lease = message.lease.value(), .outcome = Outcome::release});
    std::size_t released = 0;
    for (const Settled settled : store().settle(nullptr, step.queue, releases))
        released += settled == Settled::ready;
    return fmt::format("{} reaped, {} claimed, {} released", reaped, releases.size(), released);
}

// Mostly the last lease that was granted on a message; sometimes an older one, or that of a row of
// another time.
std::optional<Lease> Subject::choose_lease(Queue queue, unsigned which, unsigned version) {
    const Granted& all = granted(queue);
    if (all.empty()) return std::nullopt;
    const auto& list =
        std::next(all.begin(), static_cast<std::ptrdiff_t>(which % all.size()))->second;
    Lease lease = version % 4 == 0 ? list.at(version / 4 % list.size()) : list.back();
    if (version % 9 == 8) lease.id = WorkItemId(lease.id.seq(), lease.id.nonce() ^ 1U);
    if (version % 9 == 7) lease.lease_id = LeaseId(lease.lease_id.value() ^ 1);
    return lease;
}

std::string Subject::settle(const Step& step, std::size_t count) {
    std::vector<Settlement> settlements;
    std::set<std::uint64_t> chosen;
    for (unsigned i = 0; i < count; ++i) {
        const std::optional<Lease> lease = choose_lease(step.queue, step.a + i, step.b + i);
        if (lease && chosen.insert(lease->id.seq()).second)
            settlements.push_back(settlement(*lease, step.c + i));
    }
    if (settlements.empty()) return "nothing to settle";
    std::string text;
    for (const Settled settled : store().settle(transaction_.get(), step.queue, settlements))
        text += std::to_string(static_cast<int>(settled)) + " ";
    return text;
}

std::string Subject::extend(const Step& step, Duration lease) {
    std::vector<Lease> leases;
    for (unsigned i = 0; i < 1 + step.c % 3; ++i)
        if (const auto chosen = choose_lease(step.queue, step.a + i, step.b))
            leases.push_back(*chosen);
    std::string text;
    for (const bool stood : store().extend(step.queue, leases, lease)) text += stood ? "y" : "n";
    return text;
}

std::string Subject::redrive(const Step& step) {
    std::vector<WorkItemId> ids;
    if (step.queue == Queue::inbox) {
        const InboxKey key = inbox_key(step.a);
        for (const Message& message :
             store().find(Queue::inbox, {.message_id = key.message_id, .source = key.source}))
            ids.push_back(message.id);
    } else {
        unsigned number = 0;
        for (const auto& [name, id] : outbox_ids_)
            if ((number++ + step.a) % (1 + step.b % 3) == 0)
                ids.push_back(step.c % 6 == 5 ? WorkItemId(id.seq(), id.nonce() ^ 1U) : id);
    }
    return std::to_string(store().redrive(step.queue, ids));
}

std::string Subject::purge(const Step& step) {
    const PurgeRequest request{.older_than = step.a % 3 == 0 ? Duration{1h} : Duration{0},
                               .batch = everything};
    PurgeResult result = store().purge(step.queue, request);
    std::uint64_t purged = result.purged;
    // Where the history lies in days, the day that has just ended is a batch of its own.
    for (int further = 0; result.more && further < 3; ++further) {
        result = store().purge(step.queue, request);
        purged += result.purged;
    }
    return fmt::format("{} {} {}", purged, result.more, result.busy);
}

std::string Subject::snapshot() {
    std::string text;
    for (const Queue queue : {Queue::outbox, Queue::inbox}) {
        std::vector<std::string> lines;
        for (const Message& message : store().find(queue, {.limit = everything}))
            lines.push_back(describe(message));
        for (const Message& message : store().find(queue, {.blocking = true, .limit = everything}))
            lines.push_back(name_of(message) + " blocks its line");
        const Counts counts = store().counts(queue);
        text += joined(std::move(lines)) +
                fmt::format("{}: ready={} in_progress={} dead={} seen={} retrying={} oldest={}\n",
                            to_string(queue), counts.ready, counts.in_progress, counts.dead,
                            counts.seen, counts.retrying, counts.oldest.has_value());
    }
    return text;
}

}  // namespace postroom::test
