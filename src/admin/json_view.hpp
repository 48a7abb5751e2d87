// What the use cases return, as JSON: one view for whoever shows it.
//
// Names are those of the fields; what is empty is left out. Payloads and headers appear only where
// they are asked for.
#pragma once

#include <string>
#include <vector>

#include "admin/bulk.hpp"
#include "admin/explain.hpp"
#include "admin/messages.hpp"
#include "admin/pauses.hpp"
#include "admin/restore.hpp"
#include "postroom/operator.hpp"

namespace postroom::admin {

enum class Payload : bool { hidden, shown };

std::string json_of(const Message& message, Payload payload = Payload::hidden);
// With its failed attempts.
std::string json_of(const MessageDetail& detail, Payload payload = Payload::hidden);
std::string json_of(const FailedAttempt& attempt);
std::string json_of(const ListedMessage& listed);
std::string json_of(const MessagePage& page);  // an array of its messages
std::string json_of(const QueueStatus& status);
std::string json_of(const Explanation& explanation);
std::string json_of(const PauseChange& change);
std::string json_of(const WorkerReport& worker);
std::string json_of(const AuditEntry& entry);
std::string json_of(const RestoreReport& report);
std::string json_of(const RestoreResult& result);
std::string json_of(const RestoreHold& hold);
std::string json_of(Change change, const BulkResult& result, bool dry_run);
std::string texts_view(const std::vector<std::string>& texts);
// `about`: the name of the store, or what else was looked at.
std::string json_of(const std::string& about, const Finding& finding);

}  // namespace postroom::admin
