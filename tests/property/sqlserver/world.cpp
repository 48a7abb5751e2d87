#include "property/world.hpp"
#include "support/sqlserver_server.hpp"

namespace postroom::test {
namespace {

class SqlServerWorld final : public World {
public:
    SqlServerWorld() : store_(open_store(database_->url())) {}
    Store& store() override { return *store_; }

private:
    SqlServerDeployed database_;
    std::unique_ptr<Store> store_;
};

// Beside the others where a user has named a server.
const bool added =
    sqlserver_url() &&
    add_world({.name = "SqlServer", .make = [] { return std::make_unique<SqlServerWorld>(); }});

}  // namespace
}  // namespace postroom::test
