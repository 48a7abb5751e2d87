#include "cli/remote/remote_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "admin/state_words.hpp"
#include "base/base64.hpp"
#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "base/sleep.hpp"
#include "cli/failure.hpp"
#include "cli/remote/remote_values.hpp"
#include "postroom/error.hpp"
#include "queue/query_texts.hpp"

namespace postroom::cli {

namespace {

constexpr std::uint32_t page_max = 500;
constexpr std::size_t ids_max = 1000;
constexpr std::chrono::milliseconds between_looks{100};

[[noreturn]] void refuse(const char* what) {
    throw Error(ErrorKind::misuse, fmt::format("a remote store does not {}", what));
}

// How the server names a filter. What only pages are asked by is none of it.
std::string filter_json(ApiClient::Query parameters) {
    for (const char* const name : {"store", "queue", "order", "put_off", "failed"})
        parameters.erase(name);
    base::JsonObject out;
    for (const auto& [name, value] : parameters) {
        if (name == "blocking") {
            out.add(name, true);
        } else {
            out.add(name, value);
        }
    }
    return out.text();
}

class RemoteStore final : public Store, public StoreControls, public RemoteUseCases {
public:
    RemoteStore(const std::string& url, const std::string& name)
        : Store(name, Limits{}), client_(url) {}

    Instant now() override {
        return JsonValues(client_.fetch("/api/messages", about({{"limit", "1"}})))
            .time("now")
            .value_or(Instant{});
    }
    std::vector<Message> find(Queue queue, const Query& query) override {
        return query.ids.empty() ? pages(queue, query, Duration::max()).messages
                                 : named(queue, query);
    }
    FoundPage find_within(Queue queue, const Query& query, Duration patience) override {
        return query.ids.empty() ? pages(queue, query, patience)
                                 : Store::find_within(queue, query, patience);
    }
    // The server looks where keys and times lead, which its lists do not.
    std::vector<WorkItemId> find_keyed(Queue queue, const std::string& message_id) override {
        try {
            const JsonValues found = detail(queue, ApiClient::escaped(message_id));
            return {message_from(JsonValues(found.json("message"))).id};
        } catch (const Failure& failure) {
            // Several have it, or none: a list tells.
            if (failure.code() != ExitCode::not_found && failure.code() != ExitCode::failed) throw;
            return {};
        }
    }
    std::uint64_t redrive(Queue queue, std::span<const WorkItemId> ids) override {
        return change("redrive", queue, ids);
    }
    Counts counts(Queue queue) override {
        for (const JsonValues& store : JsonValues(client_.fetch("/api/stores")).objects("stores")) {
            if (store.text("store") != id()) continue;
            const JsonValues part(store.json(to_string(queue)));
            Counts counts = counts_from(JsonValues(part.json("backlog")));
            if (part.has("oldest_age_seconds"))
                counts.oldest =
                    now() - std::chrono::duration_cast<Duration>(std::chrono::duration<double>(
                                std::atof(part.text("oldest_age_seconds").c_str())));
            return counts;
        }
        return {};
    }

    std::vector<PausedTopic> paused_topics() override {
        std::vector<PausedTopic> out;
        for (const JsonValues& topic :
             JsonValues(client_.fetch("/api/topics", about())).objects("topics"))
            if (topic.flag("paused") && topic.text("paused_by") == topic.text("topic"))
                out.push_back({.topic = topic.text("topic"),
                               .since = topic.time("paused_since").value_or(Instant{})});
        return out;
    }
    void pause_topic(const std::string& topic) override { post_topic("/api/topics/pause", topic); }
    void resume_topic(const std::string& topic) override {
        post_topic("/api/topics/resume", topic);
    }
    std::uint64_t discard(Queue queue, std::span<const WorkItemId> ids) override {
        return change("discard", queue, ids);
    }
    std::uint64_t retry_now(Queue queue, std::span<const WorkItemId> ids) override {
        return change("retry-now", queue, ids);
    }
    std::vector<WorkerReport> workers() override {
        std::vector<WorkerReport> out;
        for (const JsonValues& worker :
             JsonValues(client_.fetch("/api/workers", about())).objects("workers"))
            out.push_back(worker_from(worker));
        return out;
    }
    // Oldest first, where the server tells the newest first.
    std::vector<FailedAttempt> attempts(Queue queue, const WorkItemId& id) override {
        std::vector<FailedAttempt> out;
        for (const JsonValues& attempt : detail(queue, id.to_string()).objects("attempts"))
            out.push_back(attempt_from(attempt));
        std::ranges::reverse(out);
        return out;
    }
    // The server writes down what is done through it.
    void record_audit(const AuditEntry&) override {}
    std::vector<AuditEntry> audit_log(std::uint64_t before_id, std::uint32_t limit) override {
        std::vector<AuditEntry> out;
        const ApiClient::Query query =
            about({{"cursor", fmt::format("{}", before_id)}, {"limit", fmt::format("{}", limit)}});
        for (const JsonValues& entry :
             JsonValues(client_.fetch("/api/audit", query)).objects("entries"))
            out.push_back(audit_entry_from(entry));
        return out;
    }
    std::vector<Finding> examine() override {
        std::vector<Finding> out;
        for (const JsonValues& finding :
             JsonValues(client_.fetch("/api/stores/findings", about())).objects("findings"))
            out.push_back(finding_from(finding));
        return out;
    }

    FoundPage find_group(Queue queue, const Query& query, const std::string& fingerprint,
                         Duration patience) override {
        return pages(queue, query, patience, fingerprint);
    }
    admin::BulkResult change_matching(Queue queue, admin::Change change, const Query& filter,
                                      const admin::BulkOptions& options) override {
        base::JsonObject body;
        body.add("action", admin::verb_of(change)).add("store", id());
        body.add("queue", to_string(queue)).add("per_second", options.per_second);
        if (options.at_most) body.add("at_most", *options.at_most);
        body.add_json("filter", filter_json(parameters(queue, filter, options.fingerprint)));
        const JsonValues ended =
            finished(JsonValues(client_.post("/api/operations", {}, body.text())), options);
        return {.matched = ended.number("matched"),
                .changed = ended.number("changed"),
                .stopped = ended.text("status") == "cancelled"};
    }

    void report_worker(const WorkerReport&) override { refuse("take reports"); }
    void forget_worker(const OwnerToken&, Queue) override { refuse("take reports"); }
    std::unique_ptr<Transaction> begin() override { refuse("begin transactions"); }
    std::vector<EnqueueResult> enqueue(TxContext*, std::span<const NewMessage>,
                                       const BornLease*) override {
        refuse("enqueue");
    }
    SqlStatement enqueue_statement(const NewMessage&) override { refuse("enqueue"); }
    std::vector<ReceiveResult> receive(TxContext*, std::span<const ReceivedMessage>,
                                       bool) override {
        refuse("receive");
    }
    SeenResult see(TxContext*, const InboxKey&, const std::optional<std::string>&) override {
        refuse("receive");
    }
    std::optional<State> mark(TxContext*, const InboxKey&, State, const std::string&) override {
        refuse("mark");
    }
    std::vector<Message> claim(Queue, const ClaimRequest&, std::stop_token) override {
        refuse("claim");
    }
    std::vector<Settled> settle(TxContext*, Queue, std::span<const Settlement>) override {
        refuse("settle");
    }
    std::vector<bool> extend(Queue, std::span<const Lease>, Duration) override {
        refuse("extend leases");
    }
    std::uint64_t reap(Queue, std::uint32_t, std::stop_token) override { refuse("reap"); }
    PurgeResult purge(Queue, const PurgeRequest&) override { refuse("purge"); }
    std::unique_ptr<Doorbell> doorbell(Queue) override { refuse("ring"); }

private:
    ApiClient::Query about(ApiClient::Query query = {}) const {
        query.emplace("store", id());
        return query;
    }
    ApiClient::Query about(Queue queue) const {
        return about({{"queue", std::string(to_string(queue))}});
    }

    JsonValues detail(Queue queue, const std::string& message) const {
        return JsonValues(client_.fetch("/api/messages/" + message, about(queue)));
    }

    std::vector<Message> named(Queue queue, const Query& query) const {
        std::vector<Message> out;
        for (const WorkItemId& row : query.ids) {
            try {
                const JsonValues found = detail(queue, row.to_string());
                out.push_back(message_from(JsonValues(found.json("message"))));
                if (query.payloads) reveal(queue, out.back());
            } catch (const Failure& failure) {
                if (failure.code() != ExitCode::not_found) throw;
            }
        }
        return out;
    }

    void reveal(Queue queue, Message& message) const {
        const JsonValues revealed(client_.fetch(
            fmt::format("/api/messages/{}/payload", message.id.to_string()), about(queue)));
        message.payload = revealed.has("base64")
                              ? base::base64_decode(revealed.text("base64")).value_or("")
                              : revealed.text("text");
        for (const base::JsonField& header : base::json_fields(revealed.json("headers")))
            message.headers[header.key] = header.text;
        message.payload_left_out.reset();
    }

    ApiClient::Query parameters(Queue queue, const Query& query,
                                const std::string& fingerprint) const {
        ApiClient::Query out = about(queue);
        visit_texts(query, [&](std::string_view name, const std::optional<std::string>& wanted) {
            if (wanted) out[std::string(name)] = *wanted;
        });
        std::string states;
        for (const std::string& word : admin::state_words())
            if (query.state.contains(*admin::state_from(word)))
                states += (states.empty() ? "" : ",") + word;
        if (!states.empty()) out["state"] = states;
        if (query.owner) out["owner_token"] = query.owner->to_string();
        if (query.blocking) out["blocking"] = "true";
        if (query.put_off) out["put_off"] = "true";
        if (query.failed) out["failed"] = "true";
        if (!query.error_part.empty()) out["error"] = query.error_part;
        if (!fingerprint.empty()) out["fingerprint"] = fingerprint;
        if (query.created_from) out["created_from"] = base::rfc3339(*query.created_from);
        if (query.created_before) out["created_before"] = base::rfc3339(*query.created_before);
        out["order"] = query.newest_first ? "newest" : "oldest";
        return out;
    }

    // The server searches for as long as it likes, and says how far it came; goes on from there.
    FoundPage pages(Queue queue, const Query& query, Duration patience,
                    const std::string& fingerprint = {}) const {
        FoundPage out;
        ApiClient::Query asked = parameters(queue, query, fingerprint);
        const std::uint64_t from = query.newest_first ? query.before_seq : query.after_seq;
        if (from > 0) out.next_seq = from;
        const auto begun = std::chrono::steady_clock::now();
        bool cut_short = false;  // patience is for searches, not for pages that are full
        do {
            if (out.next_seq) asked["cursor"] = fmt::format("{}", *out.next_seq);
            asked["limit"] = fmt::format(
                "{}", std::min<std::size_t>(page_max, query.limit - out.messages.size()));
            const JsonValues page(client_.fetch("/api/messages", asked));
            for (const JsonValues& message : page.objects("messages"))
                out.messages.push_back(message_from(message));
            out.next_seq.reset();
            // Behind what has no number the list would begin anew.
            if (page.has("next_cursor") && page.number("next_cursor") > 0)
                out.next_seq = page.number("next_cursor");
            cut_short = page.flag("cut_short");
        } while (out.next_seq && out.messages.size() < query.limit &&
                 (!cut_short || std::chrono::steady_clock::now() - begun < patience));
        if (query.payloads)
            for (Message& message : out.messages) reveal(queue, message);
        return out;
    }

    void post_topic(const char* path, const std::string& topic) const {
        client_.post(path, about(), base::JsonObject().add("topic", topic).text());
    }

    std::uint64_t change(const char* action, Queue queue, std::span<const WorkItemId> ids) const {
        std::uint64_t changed = 0;
        while (!ids.empty()) {
            const std::size_t count = std::min(ids.size(), ids_max);
            base::JsonArray list;
            for (const WorkItemId& row : ids.first(count)) list.add(row.to_string());
            changed += finished(JsonValues(client_.post("/api/operations", {},
                                                        base::JsonObject()
                                                            .add("action", action)
                                                            .add("store", id())
                                                            .add("queue", to_string(queue))
                                                            .add_json("ids", list.text())
                                                            .text())))
                           .number("changed");
            ids = ids.subspan(count);
        }
        return changed;
    }

    JsonValues finished(JsonValues operation, const admin::BulkOptions& options = {}) const {
        const std::string path = "/api/operations/" + operation.text("id");
        bool cancelled = false;
        while (operation.text("status") == "running") {
            if (options.stop.stop_requested() && !std::exchange(cancelled, true))
                client_.post(path + "/cancel", {}, "");
            base::sleep_for({}, between_looks);
            operation = JsonValues(client_.fetch(path));
            if (options.progress) options.progress(operation.number("changed"));
        }
        if (operation.text("status") == "failed")
            throw Failure(ExitCode::failed, operation.text("error"));
        return operation;
    }

    const ApiClient client_;
};

}  // namespace

std::vector<std::string> remote_store_names(const ApiClient& client) {
    std::vector<std::string> names;
    for (const JsonValues& store : JsonValues(client.fetch("/api/stores")).objects("stores"))
        names.push_back(store.text("store"));
    return names;
}

std::unique_ptr<Store> open_remote_store(const std::string& url, const std::string& name) {
    return std::make_unique<RemoteStore>(url, name);
}

}  // namespace postroom::cli
