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
#include "postroom/open_store.hpp"
#include "postroom/store_controls.hpp"

namespace postroom::cli {

// Whether a command may bring its database into being.
enum class Absent {
    create,  // where the schema may be deployed too: 'migrate up', or deploy_schema
    refuse,
};

// The store that --store names, or the only one. Throws Failure{not_found}, or Failure{usage} when
// there are several to choose from.
const daemon::StorePlan& one_store(const Config& config, const Invocation& in);

// The one that --store names, or all.
std::vector<daemon::StorePlan> chosen_stores(const Config& config, const Invocation& in);

// Opens it and looks whether its schema is there. Throws Failure with what to do.
std::unique_ptr<Store> open_store_of(const Config& config, const daemon::StorePlan& plan,
                                     Absent absent = Absent::refuse);
std::unique_ptr<Schema> open_schema_of(const Config& config, const daemon::StorePlan& plan,
                                       Absent absent = Absent::refuse);

// What 'migrate up' would find. Makes nothing.
SchemaReport plan_for(const Config& config, const daemon::StorePlan& plan);

// What is said about a URL that cannot be one. `origin`: where it was given, if that is known.
Failure bad_address(const std::string& origin, const std::string& store,
                    const std::invalid_argument& error);

// As the relay opens its stores: with the look at the schema.
std::unique_ptr<Store> open_with_schema(const std::string& url, const OpenOptions& options);

// What an operator may do with it. Throws Failure for a store that has no such thing.
StoreControls& controls(Store& store);
// Since when the outbox's topic is paused.
std::optional<Instant> paused_since(Store& store, const std::string& topic);

// --queue, outbox when it is not given.
Queue queue_of(const Invocation& in);
Option queue_option();

}  // namespace postroom::cli
