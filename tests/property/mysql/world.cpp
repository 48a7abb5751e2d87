#include "property/world.hpp"
#include "support/mariadb_server.hpp"

namespace postroom::test {
namespace {

// A database for each history: schemas of one database, which would be faster to make, are not to
// be had here.
class MariadbWorld final : public World {
public:
    MariadbWorld() : store_(open_store(database_.url(), {.deploy_schema = true})) {}
    Store& store() override { return *store_; }

private:
    MariadbDatabase database_;
    std::unique_ptr<Store> store_;
};

const bool added =
    add_world({.name = "Mariadb", .make = [] { return std::make_unique<MariadbWorld>(); }});

}  // namespace
}  // namespace postroom::test
