// What commands share: which stores they are about, how those are opened, and what is said when
// that fails.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/config/config.hpp"
#include "postroom/open_store.hpp"

namespace postroom::cli {

// Whether a command may bring its database into being.
enum class Absent {
    create,  // the file of this folder, when nothing is configured
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

// As the relay opens its stores: with the look at the schema.
std::unique_ptr<Store> open_with_schema(const std::string& url, const OpenOptions& options);

// --queue, outbox when it is not given.
Queue queue_of(const Invocation& in);
Option queue_option();

}  // namespace postroom::cli
