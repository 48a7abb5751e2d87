// Opening a store by URL, with the options that every database shares.
//
//   auto store = postroom::open_store("postgresql://app@db/shop", {.deploy_schema = true});
//   auto store = postroom::open_store("sqlite:shop.db");
//
// The backends that the program is linked with register their URL schemes; an unknown scheme is
// refused with the list of known ones. A single backend can also be opened through its own header
// (backend/sqlite.hpp ...).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "postroom/clock.hpp"
#include "postroom/message.hpp"
#include "postroom/operator.hpp"
#include "postroom/restore.hpp"
#include "postroom/store.hpp"

namespace postroom {

class ConnectionBudget;  // tenancy.hpp

struct OpenOptions {
    // Names of the tables: `schema`.`outbox_table`_live and so on. Letters, digits and underscores
    // only.
    std::string schema = "infra";
    std::string outbox_table = "outbox";
    std::string inbox_table = "inbox";

    // Create or upgrade the schema while opening. False: the schema is taken to be there and never
    // touched.
    bool deploy_schema = false;

    // Name for logs and metrics; empty: derived from the URL, without secrets.
    std::string store_id{};

    // Keep delivered messages until purge() removes them. False: those of the outbox are gone when
    // acknowledged, and the inbox remembers them without their payload and headers.
    bool keep_history = true;
    // How long at least an idempotency key keeps a second message out, whatever becomes of the
    // first; then the next purge() of the outbox removes it.
    Duration dedupe_window = std::chrono::hours{24 * 7};

    // From so many failed attempts on, a message that is neither done nor dead is an old failure
    // (Counts).
    std::uint32_t old_failure_attempts = 5;

    Limits limits{};

    std::size_t pool_max = 16;                            // connections at most
    Duration pool_wait = std::chrono::seconds{30};        // for a free one; then Error{unavailable}
    Duration connect_timeout = std::chrono::seconds{10};  // for one attempt to connect
    Duration statement_timeout =
        std::chrono::seconds{30};         // for one of our statements; lock waits included
    std::uint32_t conflict_retries = 10;  // of a unit that we run ourselves

    // The connection goes through a transaction pooler (PgBouncer): no prepared statements, no
    // session state.
    bool pooled = false;

    // Shared with other stores: how many connections all of them may have open together.
    std::shared_ptr<ConnectionBudget> budget{};

    // Hold delivery when the database looks restored or copied. Off unless asked for; a relay asks.
    RestoreGuardOptions restore_guard{};

    bool operator==(const OpenOptions&) const = default;
};

// Throws std::invalid_argument for a bad URL or name, Error{unavailable} when the database cannot
// be reached.
std::unique_ptr<Store> open_store(const std::string& url, const OpenOptions& options = {});

// The schema of the same store, to deploy or inspect it.
std::unique_ptr<Schema> open_schema(const std::string& url, const OpenOptions& options = {});

}  // namespace postroom
