#include "queue/record_json.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "base/json_map.hpp"
#include "base/json_writer.hpp"
#include "base/utf8.hpp"

namespace postroom {

namespace {

using base::JsonObject;
using Fields = std::map<std::string, std::string>;

Fields fields_of(std::string_view json) { return base::map_from_json(json).value_or(Fields{}); }

std::string text_of(const Fields& fields, const std::string& name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string{} : found->second;
}

template <class Number>
Number number_of(const Fields& fields, const std::string& name, Number otherwise = {}) {
    const std::string text = text_of(fields, name);
    Number out = otherwise;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
}

// A time as microseconds before or after another, and back. What lies farther away than anybody
// means is a mistake of whoever wrote the row, and must not overflow.
constexpr Duration offset_max = std::chrono::years{1000};
constexpr Duration interval_max = std::chrono::days{1};

std::int64_t offset(Instant time, Instant from) { return Duration(time - from).count(); }
Instant at_offset(const Fields& fields, const std::string& name, Instant from) {
    return from +
           std::clamp(Duration(number_of<std::int64_t>(fields, name)), -offset_max, offset_max);
}

std::optional<Duration> span_of(const Fields& fields, const std::string& name) {
    if (!fields.contains(name)) return std::nullopt;
    return std::clamp(Duration(number_of<std::int64_t>(fields, name)), Duration::zero(),
                      offset_max);
}

std::string rate(double per_second) { return fmt::format("{:.3f}", per_second); }

// A set, as an object whose names are its members.
std::string set_json(const std::vector<std::string>& members) {
    Fields out;
    for (const std::string& member : members) out.emplace(member, "");
    return base::to_json(out);
}
std::vector<std::string> members_of(std::string_view json) {
    std::vector<std::string> members;
    for (const auto& [member, nothing] : fields_of(json)) members.push_back(member);
    return members;
}

std::string circuits_json(const WorkerReport& worker) {
    JsonObject out;
    for (const CircuitReport& circuit : worker.circuits)
        out.add_json(circuit.destination,
                     JsonObject()
                         .add("error", circuit.error)
                         .add("since", offset(circuit.since, worker.last_seen))
                         .add("next_probe", offset(circuit.next_probe, worker.last_seen))
                         .add_json("topics", set_json(circuit.topics))
                         .text());
    return out.text();
}

std::string repeats_json(const WorkerReport& worker) {
    JsonObject out;
    for (const SourceRepeats& one : worker.repeats)
        out.add_json(one.source, JsonObject()
                                     .add("duplicates", one.duplicates)
                                     .add("hash_mismatches", one.hash_mismatches)
                                     .text());
    return out.text();
}

}  // namespace

std::string to_json(const WorkerReport& worker) {
    return JsonObject()
        .add("host", worker.host)
        .add("pid", worker.pid)
        .add("version", worker.version)
        .add("started", offset(worker.started, worker.last_seen))
        .add("interval", std::int64_t{worker.interval.count()})
        .add("lease", std::int64_t{worker.lease.count()})
        .add_json("topics", set_json(worker.topics))
        .add_json("circuits", circuits_json(worker))
        .add("in_hand", worker.in_hand)
        .add_json("delivered_per_second", rate(worker.delivered_per_second))
        .add_json("failed_per_second", rate(worker.failed_per_second))
        .add_json("repeats", repeats_json(worker))
        .text();
}

void read_json(WorkerReport& worker, std::string_view json) {
    const Fields fields = fields_of(json);
    worker.host = text_of(fields, "host");
    worker.pid = number_of<std::int64_t>(fields, "pid");
    worker.version = text_of(fields, "version");
    worker.started = at_offset(fields, "started", worker.last_seen);
    worker.interval = std::clamp(Duration(number_of(fields, "interval", worker.interval.count())),
                                 Duration::zero(), interval_max);
    worker.lease = span_of(fields, "lease").value_or(worker.lease);
    worker.topics = members_of(text_of(fields, "topics"));
    for (const auto& [destination, circuit] : fields_of(text_of(fields, "circuits"))) {
        const Fields told = fields_of(circuit);
        worker.circuits.push_back({.destination = destination,
                                   .error = text_of(told, "error"),
                                   .since = at_offset(told, "since", worker.last_seen),
                                   .next_probe = at_offset(told, "next_probe", worker.last_seen),
                                   .topics = members_of(text_of(told, "topics"))});
    }
    worker.in_hand = number_of<std::uint64_t>(fields, "in_hand");
    worker.delivered_per_second = number_of<double>(fields, "delivered_per_second");
    worker.failed_per_second = number_of<double>(fields, "failed_per_second");
    for (const auto& [source, repeats] : fields_of(text_of(fields, "repeats"))) {
        const Fields told = fields_of(repeats);
        worker.repeats.push_back(
            {.source = source,
             .duplicates = number_of<std::uint64_t>(told, "duplicates"),
             .hash_mismatches = number_of<std::uint64_t>(told, "hash_mismatches")});
    }
}

std::string to_json(const FailedAttempt& attempt) {
    JsonObject out;
    out.add("worker", attempt.worker.to_string())
        .add_text("destination", attempt.destination)
        .add("outcome", to_string(attempt.outcome))
        .add("error", base::truncate_utf8(attempt.error, attempt_error_chars_max));
    if (attempt.claimed_at) out.add("claimed_at", offset(*attempt.claimed_at, Instant{}));
    if (attempt.took) out.add("took", std::int64_t{attempt.took->count()});
    return out.text();
}

std::vector<FailedAttempt> attempts_from_json(std::string_view json) {
    std::vector<FailedAttempt> out;
    for (const std::string& element :
         base::array_from_json(json).value_or(std::vector<std::string>{})) {
        const std::optional<Fields> fields = base::map_from_json(element);
        if (!fields) continue;
        const Uuid worker = Uuid::parse(text_of(*fields, "worker")).value_or(Uuid{});
        const bool fatal = text_of(*fields, "outcome") == "fail";
        out.push_back({.at = at_offset(*fields, "at", Instant{}),
                       .worker = OwnerToken(worker),
                       .destination = text_of(*fields, "destination"),
                       .outcome = fatal ? Outcome::fail : Outcome::abandon,
                       .error = text_of(*fields, "error"),
                       .took = span_of(*fields, "took")});
        if (fields->contains("claimed_at"))
            out.back().claimed_at = at_offset(*fields, "claimed_at", Instant{});
    }
    return out;
}

}  // namespace postroom
