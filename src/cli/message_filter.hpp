// The options that choose messages by their fields, for every command that has them.
#pragma once

#include <vector>

#include "cli/command.hpp"
#include "postroom/store.hpp"

namespace postroom::cli {

// --topic, --source, --ordering-key, --aggregate-type, --tenant-id, --correlation-id, --error,
// --since and --until.
std::vector<Option> message_filter_options();
// --fingerprint, for the commands that are about dead messages.
Option fingerprint_option();
bool has_message_filter(const Invocation& in);

// Throws Failure{usage} for one that is empty, from a variable that was not set perhaps, which
// would mean everything; and for a time or a fingerprint that is none.
void check_message_filter(const Invocation& in);

// The query that they make, but for the fingerprint, which no database knows. `store`: its clock
// judges what is said as "so long ago".
Query message_filter(const Invocation& in, Store& store);

}  // namespace postroom::cli
