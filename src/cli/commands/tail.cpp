#include <fmt/format.h>

#include <set>

#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/output/message_view.hpp"
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

bool anything_after(Store& store, Queue queue, std::uint64_t seq) {
    return !store.find(queue, {.after_seq = seq, .limit = 1}).empty();
}

// The highest number so far, found by halving: a queue of millions is not read for it.
std::uint64_t last_seq(Store& store, Queue queue) {
    std::uint64_t low = 0;
    std::uint64_t step = 1;
    while (anything_after(store, queue, low + step)) {
        low += step;
        step *= 2;
    }
    std::uint64_t high = low + step;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (anything_after(store, queue, middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
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
        Query query{.after_seq = last_ > late_window ? last_ - late_window : 0, .limit = tail_page};
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
            print(message_view_json(message, in_.has("payload")) + "\n");
            return;
        }
        print(fmt::format("{} {} {} {} {}\n", format_time(message.created_at),
                          message.id.to_string(), state_word(message.state),
                          printable(message.topic), printable(message.message_id.str())));
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
                        {.name = "from-start", .what = "Begin with what is there already."},
                        {.name = "count", .value = "N", .what = "End after so many."},
                        {.name = "payload", .what = "With --json: the payload and headers too."}},
            .prints = true,
            .run = &run_tail};
}

}  // namespace postroom::cli
