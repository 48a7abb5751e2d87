#include "admin/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "admin/state_words.hpp"
#include "base/rfc3339.hpp"
#include "queue/query_texts.hpp"

namespace postroom::admin {

namespace {

constexpr std::size_t ids_told = 10;

}  // namespace

std::string target_of(Queue queue, const Query& filter, const std::string& fingerprint) {
    std::string out(to_string(queue));
    const auto add = [&out](std::string_view name, std::string_view value) {
        out += fmt::format(" {}='{}'", name, value);
    };
    for (const WorkItemId& id : std::span(filter.ids).first(std::min(filter.ids.size(), ids_told)))
        out += " " + id.to_string();
    if (filter.ids.size() > ids_told)
        out += fmt::format(" and {} more", filter.ids.size() - ids_told);
    visit_texts(filter, [&](std::string_view name, const std::optional<std::string>& text) {
        if (text) add(name, *text);
    });
    for (const std::string& word : state_words())
        if (filter.state.contains(*state_from(word))) add("state", word);
    if (!filter.error_part.empty()) add("error", filter.error_part);
    if (!fingerprint.empty()) add("fingerprint", fingerprint);
    if (filter.created_from) add("since", base::rfc3339_milliseconds(*filter.created_from));
    if (filter.created_before) add("until", base::rfc3339_milliseconds(*filter.created_before));
    return out;
}

AuditTrail::AuditTrail(Store& store, AuditEntry entry)
    : desk_(controls_of(store)), entry_(std::move(entry)) {}

AuditTrail::~AuditTrail() {
    try {
        end("failed");
    } catch (const std::exception&) {
        // Whatever ends the change so is on its way to the user, and the store has failed for both.
    }
}

void AuditTrail::begin() {
    if (desk_ == nullptr || open_) return;
    entry_.outcome = "begun";
    desk_->record_audit(entry_);
    open_ = true;
}

void AuditTrail::end(const std::string& outcome) {
    if (!open_) return;
    open_ = false;
    entry_.outcome = outcome;
    desk_->record_audit(entry_);
}

void record(Store& store, const std::string& who, const PauseChange& change) {
    StoreControls* const desk = controls_of(store);
    if (desk == nullptr || !change.changed()) return;
    desk->record_audit({.who = who,
                        .what = change.wanted ? "pause" : "resume",
                        .target = fmt::format("topic '{}'", change.topic),
                        .count = 1,
                        .outcome = "done"});
}

}  // namespace postroom::admin
