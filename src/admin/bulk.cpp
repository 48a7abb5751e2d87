#include "admin/bulk.hpp"

#include <algorithm>
#include <chrono>

#include "admin/dead_letters.hpp"
#include "admin/messages.hpp"
#include "admin/pauses.hpp"
#include "base/sleep.hpp"
#include "postroom/error.hpp"

namespace postroom::admin {

namespace {

constexpr std::uint32_t bulk_batch_max = 500;

// Keeps the speed to so many a second, counted from the beginning.
class Pace {
public:
    explicit Pace(std::uint64_t per_second)
        : per_second_(per_second), begun_(std::chrono::steady_clock::now()) {}

    std::uint32_t batch() const {
        if (per_second_ == 0) return bulk_batch_max;
        return static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(per_second_ / 4, 1, bulk_batch_max));
    }
    void wait_after(std::uint64_t done, const std::stop_token& stop) const {
        if (per_second_ == 0) return;
        const auto due = begun_ + std::chrono::microseconds{done * 1'000'000 / per_second_};
        base::sleep_for(stop, due - std::chrono::steady_clock::now());
    }

private:
    const std::uint64_t per_second_;
    const std::chrono::steady_clock::time_point begun_;
};

std::uint64_t apply(Store& store, Queue queue, Change change, std::span<const WorkItemId> ids) {
    switch (change) {
        case Change::redrive:
            return store.redrive(queue, ids);
        case Change::discard:
            return controls(store).discard(queue, ids);
        case Change::retry_now:
            return controls(store).retry_now(queue, ids);
    }
    return 0;
}

std::optional<Refusal> refusal_of(const std::string& name, const NamedMessage& found,
                                  Change change) {
    if (found.several) return Refusal{.id = name, .why = Refusal::Why::several};
    if (!found.message) return Refusal{.id = name, .why = Refusal::Why::unknown};
    const State state = found.message->state;
    if (changeable_states(change).contains(state)) return std::nullopt;
    return Refusal{.id = name, .why = Refusal::Why::wrong_state, .state = state};
}

// Of one group, where a fingerprint is given; at most so many.
std::vector<WorkItemId> ids_in(const std::vector<Message>& messages, const std::string& fingerprint,
                               std::uint64_t at_most = UINT64_MAX) {
    std::vector<WorkItemId> ids;
    ids.reserve(messages.size());
    for (const Message& message : messages) {
        if (ids.size() == at_most) break;
        if (fingerprint.empty() || fingerprint_of(message) == fingerprint)
            ids.push_back(message.id);
    }
    return ids;
}

struct Page {
    std::vector<Message> messages{};
    bool last = false;
};

// Messages of the inbox that were never queued have no number. They come first, nothing can be done
// to them, and no cursor leads past them: the page grows until it does.
Page next_page(Store& store, Queue queue, Query query) {
    while (true) {
        Page page{.messages = store.find(queue, query)};
        page.last = page.messages.size() < query.limit;
        std::erase_if(page.messages, [](const Message& m) { return m.id.seq() == 0; });
        if (page.last || !page.messages.empty()) return page;
        query.limit *= 2;
    }
}

Query query_of(Change change, const Query& filter, const std::string& fingerprint) {
    Query query = change_filter(change, fingerprint.empty() ? filter : group_filter(filter));
    query.newest_first = false;
    return query;
}

}  // namespace

NamedMessages choose_named(Store& store, Queue queue, Change change,
                           std::span<const std::string> names) {
    NamedMessages chosen;
    for (const std::string& name : names) {
        // Whoever changes something wants to know for certain.
        const NamedMessage found = find_message(store, queue, name, {.patience = Duration::max()});
        if (std::optional<Refusal> refusal = refusal_of(name, found, change))
            return {.refusal = std::move(refusal)};
        chosen.ids.push_back(found.message->id);
    }
    return chosen;
}

BulkResult change_named(Store& store, Queue queue, Change change, std::span<const WorkItemId> ids) {
    const std::uint64_t changed = apply(store, queue, change, ids);
    if (changed > 0) store.announce(queue);
    return {.matched = ids.size(), .changed = changed};
}

std::uint64_t count_matching(Store& store, Queue queue, Change change, const Query& filter,
                             const std::string& fingerprint, const std::stop_token& stop) {
    Query query = query_of(change, filter, fingerprint);
    if (fingerprint.empty()) return store.count(queue, query);
    query.limit = bulk_batch_max;
    std::uint64_t matched = 0;
    while (true) {
        const auto [found, last] = next_page(store, queue, query);
        matched += ids_in(found, fingerprint).size();
        if (last) return matched;
        if (stop.stop_requested())
            throw Error(ErrorKind::unavailable, "stopped before all were counted");
        query.after_seq = found.back().id.seq();
    }
}

BulkResult change_matching(Store& store, Queue queue, Change change, const Query& filter,
                           const BulkOptions& options) {
    const Pace pace(options.per_second);
    Query query = query_of(change, filter, options.fingerprint);
    BulkResult result;
    while (!result.stopped) {
        const std::uint64_t allowed =
            options.at_most ? *options.at_most - result.matched : UINT64_MAX;
        if (allowed == 0) break;
        // A group may be few among many: all of the batch is looked through for them.
        query.limit =
            options.fingerprint.empty()
                ? static_cast<std::uint32_t>(std::min<std::uint64_t>(pace.batch(), allowed))
                : pace.batch();
        const auto [found, last] = next_page(store, queue, query);
        const std::vector<WorkItemId> ids = ids_in(found, options.fingerprint, allowed);
        if (!ids.empty() && result.matched == 0 && options.begins) options.begins();
        result.matched += ids.size();
        if (!ids.empty()) result.changed += apply(store, queue, change, ids);
        if (!found.empty()) {
            query.after_seq = found.back().id.seq();
            if (options.progress) options.progress(result.changed);
        }
        if (last) break;
        pace.wait_after(result.changed, options.stop);
        result.stopped = options.stop.stop_requested();
    }
    if (result.changed > 0) store.announce(queue);
    return result;
}

}  // namespace postroom::admin
