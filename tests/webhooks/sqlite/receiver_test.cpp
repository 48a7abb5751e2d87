// The rules of the Receiver on SQLite.
#include "webhooks/receiver_test.hpp"

#include "postroom/backend/sqlite.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {
namespace {

class OpenSqliteStore final : public OpenStore {
public:
    Store& store() override { return *store_; }

private:
    TempDir directory_;
    std::unique_ptr<Store> store_ =
        sqlite::open_store((directory_ / "inbox.db").string(), {.deploy_schema = true});
};

INSTANTIATE_TEST_SUITE_P(Sqlite, ReceiverTest,
                         testing::Values(StoreKind{
                             "Sqlite", [] { return std::make_unique<OpenSqliteStore>(); }}),
                         kind_name);

}  // namespace
}  // namespace postroom::test
