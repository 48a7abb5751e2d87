// Migrator: creates the tables of a store, keeps its routines up to date, and tells where a
// database differs from what they should be.
//
// Files of schema/ are applied once each, in order. The routines of a queue are one step: it is
// repeated when their text differs from what was applied, unless the database was brought to a
// newer schema by a newer library, whose routines serve this one too.
//
// After each deployment the migrator records the definition of every object in the database; drift
// is whatever differs from that record later.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sql/backend.hpp"

namespace postroom::sql {

class Migrator final : public Schema {
public:
    Migrator(const Backend& backend, const OpenOptions& options);

    void deploy() override;
    SchemaReport report() override;
    std::string script() const override;

private:
    // SQL with the names of one store put in.
    struct Step {
        int number;        // of the file; of routines: the newest file they were written for
        std::string name;  // "0001_queue_tables (outbox)", "routines (outbox)"
        std::string text;
        std::string checksum;
        bool repeats = false;  // again when its text has changed
    };
    struct Applied {
        int number;
        std::string checksum;
    };
    using AppliedSteps = std::map<std::string, Applied>;  // by name
    // Object name to definition.
    using Objects = std::map<std::string, std::string>;

    std::vector<Step> steps() const;
    std::vector<Step> schema_steps() const;
    Step routine_step(Queue queue) const;
    static bool is_pending(const Step& step, const AppliedSteps& done);
    std::string note_of(const Step& step) const;  // the statements that record it as applied
    AppliedSteps applied(Connection& connection) const;
    Objects catalog(Connection& connection) const;
    Objects recorded(Connection& connection) const;
    void apply_pending(Connection& connection) const;
    void record(Connection& connection) const;
    Objects query_pairs(Connection& connection, const std::string& text) const;
    std::string table(std::string_view name) const;
    std::string expand_schema(const std::string& text) const;

    const Backend backend_;
    const Names names_;
};

}  // namespace postroom::sql
