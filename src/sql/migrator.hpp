// Migrator: applies the embedded migrations, and tells where a database differs from what they
// made.
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
    // A migration with the names of one store put in.
    struct Step {
        int number;
        std::string name;  // "0001_queue_tables" and, where it runs for a queue, which
        std::string text;
        std::string checksum;
    };
    // Object name to definition.
    using Objects = std::map<std::string, std::string>;

    std::vector<Step> steps() const;
    std::string note_of(const Step& step) const;  // the statement that records it as applied
    std::map<std::string, std::string> applied(Connection& connection) const;  // name to checksum
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
