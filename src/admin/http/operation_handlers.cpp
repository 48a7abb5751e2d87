#include <fmt/format.h>

#include <algorithm>

#include "admin/audit.hpp"
#include "admin/dead_letters.hpp"
#include "admin/http/handlers.hpp"
#include "base/json_writer.hpp"

namespace postroom::admin {

namespace {

using base::JsonArray;
using base::JsonObject;

constexpr std::size_t ids_max = 1000;
constexpr std::uint64_t per_second_max = 1'000'000;
constexpr std::size_t json_chars_max = 64 * std::size_t{1024};

// What a caller wants done to many messages.
struct Wanted {
    Change change = Change::redrive;
    StorePtr store{};
    Queue queue = Queue::outbox;
    Query filter{};
    std::string fingerprint{};  // empty: any
    std::vector<WorkItemId> ids{};
    bool dry_run = false;
    std::uint64_t per_second = 0;
    std::optional<std::uint64_t> at_most{};
    std::string what{};  // in words
};

std::vector<WorkItemId> ids_of(const std::string& joined) {
    std::vector<WorkItemId> ids;
    std::string_view rest = joined;
    while (true) {
        const std::size_t comma = rest.find(',');
        const std::optional<WorkItemId> id = WorkItemId::parse(rest.substr(0, comma));
        if (!id) throw Problem::bad_parameter("ids", "must be ids of rows");
        if (ids.size() == ids_max)
            throw Problem::bad_parameter("ids", fmt::format("at most {}", ids_max));
        ids.push_back(*id);
        if (comma == std::string_view::npos) return ids;
        rest.remove_prefix(comma + 1);
    }
}

Wanted wanted_of(const Context& context, const Request& request) {
    const Parameters body = body_parameters(request.body);
    ParameterReader read(body);
    Wanted out{
        .change = read.change(), .store = context.store(read.text("store")), .queue = read.queue()};
    const std::optional<std::string> filter = read.text("filter", json_chars_max);
    const std::optional<std::string> ids = read.text("ids", json_chars_max);
    out.dry_run = read.flag("dry_run");
    out.per_second = read.number("per_second", 0, per_second_max).value_or(0);
    out.at_most = read.number("at_most", 0, INT64_MAX);
    read.end();
    if (filter && ids) throw Problem::bad_parameter("ids", "give these or a filter, not both");
    if (ids) {
        out.ids = ids_of(*ids);
        out.what = target_of(out.queue, {.ids = out.ids});
        return out;
    }
    const Parameters conditions = filter ? body_parameters(*filter) : Parameters{};
    ParameterReader read_filter(conditions);
    out.filter = read_filter.filter();
    out.fingerprint = read_filter.fingerprint();
    read_filter.end();
    if (!out.fingerprint.empty()) out.filter = group_filter(out.filter);
    for (const auto& [name, value] : conditions)
        out.what += fmt::format("{}{}={}", out.what.empty() ? "" : " ", name, value);
    if (out.what.empty()) out.what = "all";
    out.filter = change_filter(out.change, out.filter);
    return out;
}

std::uint64_t matched_by(const Context& context, const Wanted& wanted) {
    if (wanted.ids.empty())
        return count_matching(*wanted.store, wanted.queue, wanted.change, wanted.filter,
                              wanted.fingerprint, context.stop);
    return wanted.store->count(wanted.queue,
                               {.ids = wanted.ids, .state = changeable_states(wanted.change)});
}

// Runs in a thread of its own; the context outlives all operations.
Operations::Work work_of(const Context& context, const Wanted& wanted, const Caller& caller) {
    return [&context, wanted, caller](const std::function<void(std::uint64_t)>& progress,
                                      std::stop_token stop) {
        BulkResult result;
        std::string outcome = "failed";
        AuditEntry entry{
            .what = std::string(verb_of(wanted.change)), .target = wanted.what, .outcome = "begun"};
        context.audit_first(*wanted.store, caller, entry);
        const auto record = [&] {
            entry.count = result.changed;
            entry.outcome = outcome;
            context.audit(*wanted.store, caller, entry);
        };
        try {
            result =
                wanted.ids.empty()
                    ? change_matching(*wanted.store, wanted.queue, wanted.change, wanted.filter,
                                      {.per_second = wanted.per_second,
                                       .at_most = wanted.at_most,
                                       .stop = std::move(stop),
                                       .fingerprint = wanted.fingerprint,
                                       .progress =
                                           [&](std::uint64_t changed) {
                                               result.changed = changed;
                                               progress(changed);
                                           }})
                    : change_named(*wanted.store, wanted.queue, wanted.change, wanted.ids);
        } catch (...) {
            record();
            throw;
        }
        outcome = result.stopped ? "cancelled" : "done";
        record();
        return result;
    };
}

Operation operation_named(const Context& context, const Request& request) {
    const std::string& id = request.path_parameters.at("operation");
    std::optional<Operation> found = context.operations.find(id);
    if (!found) throw Problem::not_found(fmt::format("no operation '{}'", id));
    return *found;
}

}  // namespace

Response list_operations(const Context& context, const Request&) {
    JsonArray out;
    for (const Operation& operation : context.operations.list()) out.add_json(json_of(operation));
    return json_response(JsonObject().add_json("operations", out.text()).text());
}

Response start_operation(const Context& context, const Request& request) {
    const Wanted wanted = wanted_of(context, request);
    const std::uint64_t matched = matched_by(context, wanted);
    if (wanted.dry_run)
        return json_response(JsonObject()
                                 .add("action", verb_of(wanted.change))
                                 .add("dry_run", true)
                                 .add("matched", matched)
                                 .text());
    const std::optional<Operation> begun =
        context.operations.start({.change = wanted.change,
                                  .store = wanted.store->id(),
                                  .queue = wanted.queue,
                                  .matched = matched,
                                  .what = wanted.what,
                                  .by = request.caller.who()},
                                 work_of(context, wanted, request.caller));
    if (!begun)
        throw Problem::too_many(fmt::format("{} operations are running; wait for one to end",
                                            context.options.limits.operations_max),
                                5);
    Response response = json_response(json_of(*begun), 202);
    response.headers.emplace_back("Location", "/api/operations/" + begun->id);
    return response;
}

Response get_operation(const Context& context, const Request& request) {
    return json_response(json_of(operation_named(context, request)));
}

Response cancel_operation(const Context& context, const Request& request) {
    const Operation operation = operation_named(context, request);
    context.operations.cancel(operation.id);
    if (const StorePtr store = context.stores.find(operation.store))
        context.audit(*store, request.caller,
                      {.what = "cancel", .target = operation.what, .outcome = operation.id});
    return json_response(json_of(operation), 202);
}

}  // namespace postroom::admin
