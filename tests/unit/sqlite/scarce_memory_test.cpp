// Memory that runs out right after a commit: what is stored is not reported as failed.
//
// Sanitizers bring an operator new of their own, so this is for all other builds.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "backends/sqlite/dialect.hpp"
#include "backends/sqlite/driver.hpp"
#include "postroom/store.hpp"
#include "sql/backend.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlite::scarce_memory_test {
namespace {

// This thread gets nothing of that size or above; 0: as much as there is.
thread_local std::size_t refused_from = 0;

void* allocate(std::size_t size) {
    if (refused_from > 0 && size >= refused_from) throw std::bad_alloc();
    if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}

}  // namespace
}  // namespace postroom::sqlite::scarce_memory_test

void* operator new(std::size_t size) {
    return postroom::sqlite::scarce_memory_test::allocate(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace postroom::sqlite::scarce_memory_test {
namespace {

constexpr std::size_t large = 4096;

// Commits, and then there is no memory left.
class LastCommit final : public sql::Connection {
public:
    LastCommit(std::unique_ptr<sql::Connection> inner, bool& armed)
        : inner_(std::move(inner)), armed_(armed) {}

    void run(sql::Bracket bracket, std::span<const sql::Call> calls,
             const sql::OnRow& on_row) override {
        inner_->run(bracket, calls, on_row);
        if (std::exchange(armed_, false)) refused_from = large;
    }
    void begin() override { inner_->begin(); }
    void commit() override { inner_->commit(); }
    void rollback() override { inner_->rollback(); }
    bool in_transaction() const override { return inner_->in_transaction(); }
    SqlRows execute(const SqlStatement& statement) override { return inner_->execute(statement); }
    void execute_script(const std::string& script) override { inner_->execute_script(script); }
    bool healthy() const override { return inner_->healthy(); }

private:
    const std::unique_ptr<sql::Connection> inner_;
    bool& armed_;  // for one run
};

TEST(ScarceMemory, AnEnqueueThatIsCommittedIsReportedAsStored) {
    const test::TempDir directory;
    const std::string path = (directory / "store.db").string();
    bool armed = false;
    sql::Backend backend{.dialect = make_dialect(),
                         .connect = [&]() -> std::unique_ptr<sql::Connection> {
                             return std::make_unique<LastCommit>(
                                 std::make_unique<Driver>(path, std::chrono::seconds{10}), armed);
                         },
                         .peer = "sqlite:" + path,
                         .doorbell = {},
                         .group_commit = false};
    const std::unique_ptr<Store> store =
        sql::make_store(std::move(backend), {.deploy_schema = true});
    const std::vector<NewMessage> messages(
        large / sizeof(EnqueueResult) + 1,
        {.topic = "t", .payload = "p", .message_id = MessageId("an id that needs memory")});

    armed = true;
    std::vector<EnqueueResult> results;
    try {
        results = store->enqueue(nullptr, messages, nullptr);
    } catch (const std::exception& error) {
        refused_from = 0;
        ADD_FAILURE() << error.what();
    }
    refused_from = 0;
    EXPECT_EQ(results.size(), messages.size());
    EXPECT_EQ(store->counts(Queue::outbox).ready, messages.size());
}

}  // namespace
}  // namespace postroom::sqlite::scarce_memory_test

#endif
