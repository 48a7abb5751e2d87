#include "property/world.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test {
namespace {

// All histories share a database; each has a schema of its own, which is faster to make.
class PostgresWorld final : public World {
public:
    PostgresWorld()
        : schema_("world" + std::to_string(++made_)),
          store_(open_store(database().url(), {.schema = schema_, .deploy_schema = true})) {}
    ~PostgresWorld() override {
        store_.reset();
        database().psql("SET client_min_messages = warning; DROP SCHEMA " + schema_ + " CASCADE");
    }
    Store& store() override { return *store_; }

private:
    static PostgresDatabase& database() {
        static PostgresDatabase shared;
        return shared;
    }

    static inline int made_ = 0;
    const std::string schema_;
    std::unique_ptr<Store> store_;
};

const bool added =
    add_world({.name = "Postgres", .make = [] { return std::make_unique<PostgresWorld>(); }});

}  // namespace
}  // namespace postroom::test
