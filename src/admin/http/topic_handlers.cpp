#include <fmt/format.h>

#include "admin/http/handlers.hpp"
#include "admin/http/views.hpp"
#include "admin/pauses.hpp"
#include "base/json_writer.hpp"

namespace postroom::admin {

namespace {

using base::JsonObject;

constexpr std::size_t listed_topics_max = 10'000;
constexpr std::size_t destination_chars_max = 2000;
// Enough that one of them goes to the destination in question.
constexpr std::uint32_t put_off_looked_at = 500;

Response set_topic_paused(const Context& context, const Request& request, bool paused) {
    ParameterReader read(request.query);
    const StorePtr store = context.store(read.text("store"));
    read.end();
    const Parameters body = body_parameters(request.body);
    ParameterReader read_body(body);
    const std::string topic = read_body.text("topic").value_or("");
    read_body.end();
    if (topic.empty()) throw Problem::bad_parameter("topic", "must not be empty");
    const PauseChange change = set_paused(*store, topic, paused);
    context.audit(*store, request.caller,
                  {.what = paused ? "pause" : "resume",
                   .target = topic,
                   .count = change.changed() ? 1U : 0U,
                   .outcome = change.changed() ? "done" : "was so before"});
    context.watch.look_at(*store);
    return json_response(JsonObject()
                             .add("store", store->id())
                             .add("topic", topic)
                             .add("paused", change.paused())
                             .add_text("paused_by", change.held_by.value_or(""))
                             .add("changed", change.changed())
                             .text());
}

// What waits for the destination is put off until its next probe: without something to send there
// is no probe.
void retry_for(const Context& context, Store& store, const std::string& destination) {
    std::vector<WorkItemId> ids;
    for (const Message& message : store.find(Queue::outbox, {.state = State::ready,
                                                            .put_off = true,
                                                            .limit = put_off_looked_at,
                                                            .payloads = false}))
        if (ids.empty() && message.retry_count == 0 &&
            context.destination_of(message.topic) == destination)
            ids.push_back(message.id);
    if (!ids.empty()) change_named(store, Queue::outbox, Change::retry_now, ids);
}

}  // namespace

Response list_topics(const Context& context, const Request& request) {
    ParameterReader read(request.query);
    const std::optional<std::string> name = read.text("store");
    read.end();
    if (name) context.store(name);
    return json_response(
        JsonObject().add_json("topics", topics_view(context, name, listed_topics_max)).text());
}

Response pause_topic(const Context& context, const Request& request) {
    return set_topic_paused(context, request, true);
}

Response resume_topic(const Context& context, const Request& request) {
    return set_topic_paused(context, request, false);
}

Response list_destinations(const Context& context, const Request&) {
    return json_response(JsonObject().add_json("destinations", destinations_view(context)).text());
}

Response probe_destination(const Context& context, const Request& request) {
    const Parameters body = body_parameters(request.body);
    ParameterReader read(body);
    const std::string destination = read.text("destination", destination_chars_max).value_or("");
    read.end();
    if (destination.empty()) throw Problem::bad_parameter("destination", "must not be empty");
    Dispatcher* const dispatcher = context.options.dispatcher;
    if (dispatcher == nullptr) throw Problem::conflict("this process delivers nothing");
    const std::vector<std::string> stores = dispatcher->probe(destination);
    for (const std::string& id : stores) {
        const StorePtr store = context.stores.find(id);
        if (store == nullptr) continue;
        retry_for(context, *store, destination);
        context.audit(*store, request.caller,
                      {.what = "probe", .target = destination, .count = 1, .outcome = "asked for"});
    }
    return json_response(JsonObject()
                             .add("destination", destination)
                             .add("circuits", std::uint64_t{stores.size()})
                             .text(),
                         202);
}

}  // namespace postroom::admin
