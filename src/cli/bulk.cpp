#include "cli/bulk.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>

#include "admin/audit.hpp"
#include "admin/dead_letters.hpp"
#include "admin/json_view.hpp"
#include "admin/state_words.hpp"
#include "cli/confirm.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/message_filter.hpp"
#include "cli/output/message_view.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/text.hpp"
#include "cli/remote/remote_store.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

using admin::BulkResult;
using admin::Change;

std::uint64_t rate_of(const Invocation& in) {
    const std::optional<std::int64_t> rate = parse_integer(in.value("rate", "0"));
    if (!rate || *rate < 0 || *rate > 1'000'000)
        throw Failure(ExitCode::usage, "--rate must be a whole number from 0 to 1000000");
    return static_cast<std::uint64_t>(*rate);
}

std::string words_of(StateSet states) {
    std::vector<std::string> words;
    for (const State state : {State::dead, State::ready})
        if (states.contains(state)) words.emplace_back(admin::state_word(state));
    return fmt::format("{}", fmt::join(words, " or "));
}

Failure refused(const Store& store, Queue queue, Change change, const admin::Refusal& refusal) {
    using Why = admin::Refusal::Why;
    if (refusal.why == Why::unknown) return unknown_message(store, queue, refusal.id);
    if (refusal.why == Why::several) return several_messages(refusal.id);
    return {ExitCode::failed, fmt::format("'{}' is {}, not {}; nothing was done",
                                          printable(refusal.id), admin::state_word(refusal.state),
                                          words_of(admin::changeable_states(change)))};
}

AuditEntry audit_entry(Change change, Queue queue, const Query& filter,
                       const std::string& fingerprint = {}) {
    return {.who = operator_name(),
            .what = std::string(admin::verb_of(change)),
            .target = admin::target_of(queue, filter, fingerprint)};
}

BulkResult change_named(Store& store, const Invocation& in, Change change) {
    const Queue queue = queue_of(in);
    const admin::NamedMessages chosen = admin::choose_named(store, queue, change, in.arguments());
    if (chosen.refusal) throw refused(store, queue, change, *chosen.refusal);
    if (in.dry_run()) return {.matched = chosen.ids.size()};
    admin::AuditTrail trail(store, audit_entry(change, queue, {.ids = chosen.ids}));
    trail.begin();
    const BulkResult result = admin::change_named(store, queue, change, chosen.ids);
    trail.changed(result.changed);
    trail.end("done");
    return result;
}

// Discarding is for good, and what is retried too early is tried at the expense of its destination;
// what was redriven by mistake is delivered once more, and can be discarded.
void confirm_change(const Store& store, const Invocation& in, Change change, const Query& filter,
                    std::uint64_t count) {
    confirm(in, [&]() -> std::string {
        if (count == 0) return "";
        const std::string what =
            fmt::format("of the {} of store '{}'", to_string(queue_of(in)), store.id());
        return change == Change::discard
                   ? fmt::format("discard {} {} for good?",
                                 counted(count, words_of(filter.state) + " message"), what)
                   : fmt::format("deliver {} {} now?", counted(count, "waiting message"), what);
    });
}

// The relay would go on without us: an interruption has to be told to it.
BulkResult change_remotely(RemoteUseCases& remote, Queue queue, Change change, const Query& filter,
                           admin::BulkOptions options) {
    const Interrupt interrupt;
    options.stop = interrupt.token();
    const BulkResult result = remote.change_matching(queue, change, filter, options);
    interrupt.check();
    return result;
}

std::uint64_t count_chosen(Store& store, Queue queue, Change change, Query filter,
                           const std::string& fingerprint) {
    auto* const remote = dynamic_cast<RemoteUseCases*>(&store);
    if (fingerprint.empty() || remote == nullptr)
        return admin::count_matching(store, queue, change, filter, fingerprint);
    filter.limit = UINT32_MAX;
    return remote->find_group(queue, filter, fingerprint, Duration::max()).messages.size();
}

BulkResult change_matching(Store& store, const Invocation& in, Change change, State state) {
    Query filter = message_filter(in, store);
    filter.state = state;
    filter = admin::change_filter(change, std::move(filter));
    const Queue queue = queue_of(in);
    const std::string fingerprint = in.value("fingerprint");
    const auto count = [&] { return count_chosen(store, queue, change, filter, fingerprint); };
    if (in.dry_run()) return {.matched = count()};
    const bool asks = change != Change::redrive;
    std::optional<std::uint64_t> total;
    if (asks || Progress::visible()) total = count();
    if (asks) confirm_change(store, in, change, filter, *total);
    Progress progress(std::string(admin::participle_of(change)), total);
    admin::AuditTrail trail(store, audit_entry(change, queue, filter, fingerprint));
    admin::BulkOptions options{.per_second = rate_of(in),
                               .at_most = change == Change::discard ? total : std::nullopt,
                               .fingerprint = fingerprint,
                               .begins = [&] { trail.begin(); },
                               .progress =
                                   [&](std::uint64_t changed) {
                                       trail.changed(changed);
                                       progress.at(changed);
                                   }};
    // A relay is told the filter: it does the work, and its audit log says what was asked for.
    if (auto* const remote = dynamic_cast<RemoteUseCases*>(&store))
        return change_remotely(*remote, queue, change, filter, std::move(options));
    const BulkResult result = admin::change_matching(store, queue, change, filter, options);
    trail.end(result.stopped ? "stopped" : "done");
    return result;
}

// Whether messages are described, not named. Throws Failure when they are both, or neither.
bool described(const Invocation& in, Change change) {
    const bool filtered = in.has("all") || has_message_filter(in);
    if (filtered == !in.arguments().empty()) {
        throw Failure(ExitCode::usage,
                      fmt::format("{} takes ids, or a filter (--topic, --error), or --all; one of "
                                  "them",
                                  admin::verb_of(change)));
    }
    return filtered;
}

// Behind their number. Who is retried has not been tried yet.
std::string outcome_of(Change change, std::uint64_t count) {
    if (change != Change::retry_now) return std::string(admin::participle_of(change));
    return count == 1 ? "is due now" : "are due now";
}

}  // namespace

Argument bulk_argument() {
    return {.name = "ID",
            .what = "Ids, short ids (@17) or message ids.",
            .required = false,
            .repeats = true};
}

std::vector<Option> bulk_options(Change change) {
    std::vector<Option> options = message_filter_options();
    options.insert(options.begin(), queue_option());
    if (admin::changeable_states(change).contains(State::dead))
        options.push_back(fingerprint_option());
    options.push_back({.name = "all", .what = "All messages."});
    options.push_back({.name = "rate",
                       .value = "N",
                       .what = "At most N messages a second; 0, the default, is no limit."});
    return options;
}

ExitCode run_bulk(const Invocation& in, Change change, State state) {
    const bool filtered = described(in, change);
    check_message_filter(in);
    rate_of(in);
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const BulkResult result =
        filtered ? change_matching(*store, in, change, state) : change_named(*store, in, change);
    if (in.json()) {
        print(admin::json_of(change, result, in.dry_run()) + "\n");
    } else if (in.dry_run()) {
        print(fmt::format("would {} {}\n", admin::verb_of(change),
                          counted(result.matched, "message")));
    } else {
        print(fmt::format("{} {}\n", counted(result.changed, "message"),
                          outcome_of(change, result.changed)));
    }
    return ExitCode::ok;
}

}  // namespace postroom::cli
