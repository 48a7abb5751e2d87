#include <fmt/format.h>

#include <set>

#include "admin/json_view.hpp"
#include "admin/state_words.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/output/table.hpp"
#include "cli/output/text.hpp"
#include "cli/session.hpp"
#include "postroom/error.hpp"

namespace postroom::cli {

namespace {

constexpr std::uint32_t tail_page = 500;
constexpr Duration look_every = std::chrono::milliseconds{500};
// Transactions commit in another order than they took their numbers in: so many numbers back are
// looked at again.
constexpr std::uint64_t late_window = 1000;

// The highest number so far.
std::uint64_t last_seq(Store& store, Queue queue) {
    const std::vector<Message> newest =
        store.find(queue, {.newest_first = true, .limit = 1, .payloads = false});
    return newest.empty() ? 0 : newest.front().id.seq();
}

class Follower {
public:
    Follower(Store& store, const Invocation& in) : store_(store), in_(in), queue_(queue_of(in)) {}

    // Everything that is there now counts as shown, unless it is asked for.
    void begin() {
        if (in_.has("from-start")) return;
        last_ = last_seq(store_, queue_);
        visit([this](const Message& message) { shown_.insert(message.id.seq()); });
    }

    // True when enough were shown.
    bool look(std::uint64_t count_max) {
        visit([&](const Message& message) {
            if (count_max > 0 && count_ >= count_max) return;
            if (!shown_.insert(message.id.seq()).second) return;
            last_ = std::max(last_, message.id.seq());
            ++count_;
            show(message);
        });
        while (!shown_.empty() && *shown_.begin() + late_window < last_)
            shown_.erase(shown_.begin());
        return count_max > 0 && count_ >= count_max;
    }

private:
    template <class Visit>
    void visit(Visit visit) {
        Query query{.after_seq = last_ > late_window ? last_ - late_window : 0,
                    .limit = tail_page,
                    .payloads = in_.has("payload")};
        if (in_.has("topic")) query.topic = in_.value("topic");
        while (true) {
            const std::vector<Message> found = store_.find(queue_, query);
            for (const Message& message : found) visit(message);
            if (found.size() < tail_page || found.back().id.seq() <= query.after_seq) return;
            query.after_seq = found.back().id.seq();
        }
    }

    void show(const Message& message) const {
        if (in_.json()) {
            const auto payload =
                in_.has("payload") ? admin::Payload::shown : admin::Payload::hidden;
            print(admin::json_of(message, payload) + "\n");
            return;
        }
        const std::optional<std::size_t> width = layout_for(in_).width;
        const std::string line =
            fmt::format("{} {} {} {} {}", format_time(message.created_at),
                        width ? admin::short_id(message.id) : message.id.to_string(),
                        admin::state_word(message.state), printable(message.topic),
                        printable(message.message_id.str()));
        print((width ? shortened(line, *width) : line) + "\n");
    }

    Store& store_;
    const Invocation& in_;
    const Queue queue_;
    std::uint64_t last_ = 0;
    std::uint64_t count_ = 0;
    std::set<std::uint64_t> shown_;
};

ExitCode run_tail(const Invocation& in) {
    const std::optional<std::int64_t> count = parse_integer(in.value("count", "0"));
    if (!count || *count < 0)
        throw Failure(ExitCode::usage, "--count must be a whole number, 0 or more");
    if (in.has("payload") && !in.json()) throw Failure(ExitCode::usage, "--payload needs --json");
    const Config config = load_config(in);
    const std::unique_ptr<Store> store = open_store_of(config, one_store(config, in));
    const std::unique_ptr<Doorbell> bell = store->doorbell(queue_of(in));
    Follower follower(*store, in);
    follower.begin();
    complain("following; Ctrl-C ends it");
    while (!follower.look(static_cast<std::uint64_t>(*count))) bell->wait(look_every, {});
    return ExitCode::ok;
}

}  // namespace

Command tail_command() {
    return {.name = "tail",
            .summary = "Show messages as they are enqueued, until interrupted.",
            .details =
                "With the state they have when they are seen. For looking, not for keeping: "
                "a message that is delivered at once and not kept is not seen, and so is "
                "one that commits long after its neighbours.",
            .options = {queue_option(),
                        {.name = "topic", .value = "TOPIC", .what = "Only those of this topic."},
                        {.name = "from-start",
                         .what = "Begin with the messages that are already there."},
                        {.name = "count", .value = "N", .what = "Stop after N messages."},
                        {.name = "payload",
                         .what = "With --json: show the payload and the headers too."}},
            .prints = true,
            .tabulates = true,
            .run = &run_tail};
}

}  // namespace postroom::cli
