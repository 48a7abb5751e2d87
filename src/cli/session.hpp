// What commands share: which stores they are about, how those are opened, and what is said when
// that fails.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/config/config.hpp"
#include "cli/failure.hpp"
#include "postroom/error.hpp"
#include "postroom/open_store.hpp"
#include "postroom/operator.hpp"

namespace postroom::cli {

// Whether a command may bring its database into being.
enum class Absent {
    create,  // where the schema may be deployed too: 'migrate up', or deploy_schema
    refuse,
};

// The file that a URL names; empty: it names a server.
std::string file_of(const std::string& url);

// The store that --store names, or the only one. Throws Failure{not_found}, or Failure{usage} when
// there are several to choose from.
const daemon::StorePlan& one_store(const Config& config, const Invocation& in);

// The one that --store names, or all.
std::vector<daemon::StorePlan> chosen_stores(const Config& config, const Invocation& in);

// Opens it and looks whether its schema is there. Throws Failure with what to do.
std::unique_ptr<Store> open_store_of(const Config& config, const daemon::StorePlan& plan,
                                     Absent absent = Absent::refuse);

// For a user who may write messages and nothing else: the schema is not looked at, because such a
// user cannot see all of it.
std::unique_ptr<Store> open_for_writing(const Config& config, const daemon::StorePlan& plan);
// For the handler that has caught `error`, thrown by a write to such a store: throws what it means
// to the user, Failure{schema} when there is no schema to be seen, else the error itself.
[[noreturn]] void rethrow_write_error(const Config& config, const daemon::StorePlan& plan,
                                      const Error& error);

std::unique_ptr<Schema> open_schema_of(const Config& config, const daemon::StorePlan& plan,
                                       Absent absent = Absent::refuse);

// What 'migrate up' would find. Makes nothing.
SchemaReport plan_for(const Config& config, const daemon::StorePlan& plan);

// What is said about a URL that cannot be one. `origin`: where it was given, if that is known.
Failure bad_address(const std::string& origin, const std::string& store,
                    const std::invalid_argument& error);

// As the relay opens its stores: with the look at the schema.
std::unique_ptr<Store> open_with_schema(const std::string& url, const OpenOptions& options);

// Who runs this program, for the audit log: user@host.
std::string operator_name();

// --queue, outbox when it is not given.
Queue queue_of(const Invocation& in);
Option queue_option();

}  // namespace postroom::cli
