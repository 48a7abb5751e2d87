// Lists by status on numbered pages, and the figures that go with them.
#include <algorithm>

#include "admin/http/handlers.hpp"
#include "admin/http/views.hpp"
#include "base/json_writer.hpp"
#include "base/utf8.hpp"

namespace postroom::admin {

namespace {

using base::JsonArray;
using base::JsonObject;

constexpr std::uint64_t page_number_max = 200;
constexpr std::uint64_t page_size_max = 500;
constexpr std::uint64_t page_size_usual = 50;
constexpr std::size_t snippet_chars = 200;

std::string_view status_of(const Message& message) {
    if (message.state == State::done) return "processed";
    return message.state == State::dead || message.retry_count > 0 ? "failed" : "pending";
}

Query status_query(const std::string& status) {
    if (status == "processed") return {.state = State::done};
    if (status == "failed") return {.failed = true};
    return {.state = {State::ready, State::in_progress}};
}

std::string item_view(const Message& message) {
    JsonObject out;
    out.add("Id", message.id.to_string()).add_text("MessageId", message.message_id.str());
    out.add("EventType", message.topic).add("TenantId", message.tenant_id);
    out.add("CreatedAt", message.created_at).add("RetryCount", message.retry_count);
    if (message.processed_at) {
        out.add("ProcessedAt", *message.processed_at);
    } else {
        out.add_json("ProcessedAt", "null");
    }
    if (message.last_error.empty()) {
        out.add_json("LastErrorSnippet", "null");
    } else {
        out.add("LastErrorSnippet", base::shortened(message.last_error, snippet_chars));
    }
    return out.add("Status", status_of(message)).text();
}

// The pages before are skipped by their rows, which is why the number is limited: what is shown
// stays a list of at most page_number_max * page_size_max messages.
std::vector<Message> page_of(const Context& context, Store& store, Queue queue, Query query,
                             std::uint64_t page, std::uint64_t page_size) {
    query.newest_first = true;
    query.payloads = false;
    query.limit = static_cast<std::uint32_t>(page_size);
    for (std::uint64_t before = 1; before < page; ++before) {
        if (context.stop.stop_requested()) throw Problem::unavailable("this server is stopping");
        const std::vector<Message> skipped = store.find(queue, query);
        if (skipped.size() < page_size || skipped.back().id.seq() == 0) return {};
        query.before_seq = skipped.back().id.seq();
    }
    query.limit = static_cast<std::uint32_t>(page_size) + 1;
    return store.find(queue, query);
}

Response numbered_page(const Context& context, const Request& request, Queue queue) {
    ParameterReader read(request.query);
    const StorePtr store = context.store(read.text("store"));
    Query query =
        status_query(read.word("status", {"pending", "failed", "processed"}).value_or("pending"));
    query.topic = read.text("topic");
    query.tenant_id = read.text("tenant");
    const std::uint64_t page = read.number("page", 1, page_number_max).value_or(1);
    const std::uint64_t size = read.number("pageSize", 1, page_size_max).value_or(page_size_usual);
    read.end();
    std::vector<Message> found = page_of(context, *store, queue, query, page, size);
    const bool more = found.size() > size;
    found.resize(std::min<std::size_t>(found.size(), size));
    JsonArray items;
    for (const Message& message : found) items.add_json(item_view(message));
    return json_response(JsonObject()
                             .add_json("Items", items.text())
                             .add("Page", page)
                             .add("PageSize", size)
                             .add("HasMore", more)
                             .text());
}

}  // namespace

Response list_outbox(const Context& context, const Request& request) {
    return numbered_page(context, request, Queue::outbox);
}

Response list_inbox(const Context& context, const Request& request) {
    return numbered_page(context, request, Queue::inbox);
}

Response get_metrics(const Context& context, const Request&) {
    const auto traffic = context.traffic.queues();
    JsonArray queues;
    Duration window{};
    for (const StoreFigures& store : context.metrics.stores()) {
        if (!context.has_store(store.store)) continue;
        for (const Queue queue : {Queue::outbox, Queue::inbox}) {
            const auto at = traffic.find({store.store, queue});
            const QueueTraffic figures = at == traffic.end() ? QueueTraffic{} : at->second;
            window = std::max(window, figures.window);
            JsonObject view;
            view.add("Store", store.store).add("Queue", to_string(queue));
            if (store.sample && store.sample->up) {
                const Counts& counts = store.sample->counts(queue);
                view.add("BacklogSize", backlog_of(counts)).add("FailedPending", counts.retrying);
                view.add("OldFailures", counts.old_failures).add("Dead", counts.dead);
                view.add("OldestAgeSeconds",
                         seconds(store.sample->oldest(queue).value_or(Duration{})));
                view.add("Estimated", counts.estimated);
            }
            view.add("Throughput", figures.rates.delivered);
            queues.add_json(view.add("FailureRatio", figures.failure_ratio).text());
        }
    }
    return json_response(JsonObject()
                             .add("At", context.clock.now())
                             .add("WindowSeconds", seconds(window))
                             .add_json("Queues", queues.text())
                             .text());
}

}  // namespace postroom::admin
