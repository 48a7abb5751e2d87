#include "property/world.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {
namespace {

class SqliteWorld final : public World {
public:
    SqliteWorld()
        : store_(
              open_store("sqlite://" + (folder_ / "model.db").string(), {.deploy_schema = true})) {}
    Store& store() override { return *store_; }

private:
    TempDir folder_;
    std::unique_ptr<Store> store_;
};

const bool added =
    add_world({.name = "Sqlite", .make = [] { return std::make_unique<SqliteWorld>(); }});

}  // namespace
}  // namespace postroom::test
