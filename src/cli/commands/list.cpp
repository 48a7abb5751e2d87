#include <fmt/format.h>
#include <unistd.h>

#include "admin/json_view.hpp"
#include "admin/state_words.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/message_filter.hpp"
#include "cli/output/message_view.hpp"
#include "cli/output/text.hpp"
#include "cli/output/wrap.hpp"
#include "cli/remote/remote_store.hpp"
#include "cli/search_time.hpp"
#include "cli/session.hpp"

namespace postroom::cli {

namespace {

constexpr std::int64_t limit_max = 10'000;

// A message that is named is shown whatever became of it.
std::string state_word(const Invocation& in) {
    return in.value("state", in.has("fingerprint")  ? "dead"
                             : in.has("message-id") ? "all"
                                                    : "open");
}

StateSet states_of(const Invocation& in) {
    const std::string word = state_word(in);
    if (word == "all") return {};
    return word == "open" ? open_states : StateSet(admin::state_from(word).value());
}

std::uint64_t number_of(const Invocation& in, const std::string& option) {
    const std::optional<std::int64_t> number = parse_integer(in.value(option, "0"));
    if (!number || *number < 0)
        throw Failure(ExitCode::usage,
                      fmt::format("--{} must be a whole number, 0 or more", option));
    return static_cast<std::uint64_t>(*number);
}

// How much of what matches is shown, and in which order.
void set_page(const Invocation& in, Query& query) {
    const std::optional<std::int64_t> limit = parse_integer(in.value("limit", "100"));
    if (!limit || *limit < 1 || *limit > limit_max)
        throw Failure(ExitCode::usage,
                      fmt::format("--limit must be a whole number from 1 to {}", limit_max));
    query.limit = static_cast<std::uint32_t>(*limit);
    query.after_seq = number_of(in, "after-seq");
    query.before_seq = number_of(in, "before-seq");
    query.newest_first = !in.has("oldest-first") && !in.has("after-seq");
}

Query query_of(const Invocation& in, const Query& page, Store& store) {
    Query query = message_filter(in, store);
    query.state = states_of(in);
    query.blocking = in.has("blocking");
    query.payloads = false;
    query.limit = page.limit;
    query.after_seq = page.after_seq;
    query.before_seq = page.before_seq;
    query.newest_first = page.newest_first;
    return query;
}

std::string next_page(const admin::MessagePage& page, bool newest_first) {
    return fmt::format("{}-seq {}", newest_first ? "before" : "after", *page.next_seq);
}

// On a terminal somebody may look for what has been delivered.
std::string nothing_found(const Invocation& in, const Layout& layout) {
    const bool hides_done = layout.width && state_word(in) == "open";
    return hides_done ? "no such messages are open; --state all lists delivered ones too\n"
                      : "no such messages\n";
}

std::string text_of(const admin::MessagePage& page, bool newest_first, const Layout& layout) {
    Table table = message_table();
    for (const admin::ListedMessage& listed : page.messages) add_message(table, listed, page.now);
    std::string text = page.messages.empty() ? "" : table.text(layout);
    if (layout.width) text += fitted_to(STDOUT_FILENO, down_lines(page));
    if (page.next_seq && !page.cut_short)
        text += fmt::format("there may be more: --{}\n", next_page(page, newest_first));
    return text;
}

// Not among the messages: whoever reads those by a program must not miss it.
void tell_how_far(const admin::MessagePage& page, bool newest_first) {
    if (page.cut_short)
        complain(fmt::format(
            "searched {} number {} so far: go on with --{}, or search for longer "
            "with --search-time 10s",
            newest_first ? "down to" : "up to", *page.next_seq, next_page(page, newest_first)));
}

admin::MessagePage find_page(Store& store, const Invocation& in, const Query& query) {
    const std::string fingerprint = in.value("fingerprint");
    auto* const remote = dynamic_cast<RemoteUseCases*>(&store);
    if (fingerprint.empty() || remote == nullptr)
        return admin::list_messages(store, queue_of(in), query, search_time(in), fingerprint);
    return admin::page_of(store, queue_of(in), query.limit,
                          remote->find_group(queue_of(in), query, fingerprint, search_time(in)));
}

ExitCode run_list(const Invocation& in) {
    check_message_filter(in);
    Query page;
    set_page(in, page);
    search_time(in);
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const admin::MessagePage found = find_page(*store, in, query_of(in, page, *store));
    const Layout layout = layout_for(in);
    if (in.json()) {
        print(admin::json_of(found) + "\n");
    } else if (found.messages.empty() && !found.cut_short) {
        print(nothing_found(in, layout));
    } else {
        print(text_of(found, page.newest_first, layout));
    }
    tell_how_far(found, page.newest_first);
    return ExitCode::ok;
}

std::vector<std::string> state_choices() {
    std::vector<std::string> words = admin::state_words();
    words.emplace_back("open");
    words.emplace_back("all");
    return words;
}

std::vector<Option> list_options() {
    std::vector<Option> options{
        queue_option(),
        {.name = "state",
         .value = "STATE",
         .what = "Only those in this state. open, the default, is ready, in_progress or dead; all "
                 "does not restrict, and is the default with --message-id; with --fingerprint it "
                 "is dead.",
         .choices = state_choices()},
        {.name = "message-id", .value = "ID", .what = "Only those with this message id."},
        {.name = "blocking", .what = "Only those that hold back others of their ordering key."}};
    for (Option& option : message_filter_options()) options.push_back(std::move(option));
    options.push_back(fingerprint_option());
    options.push_back({.name = "oldest-first", .what = "Show the oldest first."});
    options.push_back({.name = "before-seq",
                       .value = "N",
                       .what = "Only those before this number, to page backwards."});
    options.push_back(
        {.name = "after-seq",
         .value = "N",
         .what = "Only those after this number, the oldest first, to page forwards."});
    options.push_back(search_time_option("showing what was found"));
    options.push_back(
        {.name = "limit", .value = "N", .what = "Show at most N messages; 100 by default."});
    return options;
}

}  // namespace

Command list_command() {
    return {
        .name = "list",
        .summary = "List messages, the newest first, without their payloads.",
        .details =
            "Those that are not delivered yet, unless --state says otherwise. On a terminal the "
            "table is made to fit: ids are short (@17, which every command takes), and long "
            "values are cut, with ... at the end; --wide shows all. Destinations that are down are "
            "named below.",
        .options = list_options(),
        .examples = {"postroom list --state dead --error 'answered 503' --since 2h",
                     "postroom list --topic order.placed --state all --json"},
        .prints = true,
        .tabulates = true,
        .reaches_relays = true,
        .run = &run_list};
}

}  // namespace postroom::cli
