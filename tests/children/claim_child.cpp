// Claims a batch, gives it back, and again: a claimer for a test to freeze in the middle.
//
//   claim_child URL BATCH
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "children/child_loop.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"

int main(int count, char** arguments) {
    if (count != 3) return 2;
    using namespace postroom;
    const std::unique_ptr<Store> store = open_store(arguments[1], {.pool_max = 1});
    const Outbox outbox(*store);
    const auto batch = static_cast<std::uint32_t>(std::stoul(arguments[2]));
    const auto step = [&] {
        std::vector<Lease> leases;
        for (const Message& message : outbox.claim(outbox.owner(), std::chrono::minutes{5}, batch))
            leases.push_back(message.lease.value());
        outbox.release(leases);
        return true;
    };
    return test::child_loop(step, [](const std::string&) {});
}
