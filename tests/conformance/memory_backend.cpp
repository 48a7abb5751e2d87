// The laws on MemoryStore, with time that passes only when a test says so.
#include "conformance/dispatcher_law.hpp"
#include "conformance/forwarding_store.hpp"
#include "postroom/testing.hpp"

namespace postroom::test {
namespace {

class MemorySandbox final : public Sandbox {
public:
    explicit MemorySandbox(const OpenOptions& options) : store_(clock_, options) {}

    Store& store() override { return store_; }
    std::unique_ptr<Store> reopen() override { return std::make_unique<ForwardingStore>(store_); }
    void pass(Duration duration) override { clock_.advance(duration); }

private:
    ManualClock clock_;
    MemoryStore store_;
};

Backend memory() {
    return {.name = "Memory", .make = [](const OpenOptions& options) {
                return std::make_unique<MemorySandbox>(options);
            }};
}

POSTROOM_STORE_LAWS(memory());
POSTROOM_DISPATCHER_LAWS(memory());
POSTROOM_LAW(DoorbellPerQueueLaw, both_queues_of(memory()));

}  // namespace
}  // namespace postroom::test
