// Schema: the tables, views and functions that a store needs in its database.
//
// Migrations are numbered, embedded in the library and additive. Deploying takes a lock, so that
// any number of processes may do it at the same time: one applies them, the others find them
// applied.
#pragma once

#include <string>
#include <vector>

namespace postroom {

struct SchemaReport {
    int version = 0;                     // the highest migration applied; 0: none
    std::vector<std::string> pending{};  // migrations of this library not applied yet
    std::vector<std::string>
        drift{};         // one line for each object that is missing or was changed by hand
    bool newer = false;  // the database was migrated by a newer library

    bool up_to_date() const { return pending.empty() && drift.empty() && !newer; }
};

class Schema {
public:
    Schema() = default;
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;
    virtual ~Schema() = default;

    // Applies what is pending. Doing it again does nothing.
    virtual void deploy() = 0;

    // Looks, changes nothing.
    virtual SchemaReport report() = 0;

    // The SQL of all migrations with the configured names, for a DBA to read or to run by hand.
    virtual std::string script() const = 0;
};

}  // namespace postroom
