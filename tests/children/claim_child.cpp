// Claims a batch, gives it back, and again: a claimer for a test to freeze in the middle.
//
//   claim_child URL BATCH
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "torture/worker_loop.hpp"

int main(int count, char** arguments) {
    if (count != 3) return 2;
    using namespace postroom;
    const std::unique_ptr<Store> store = open_store(arguments[1], {.pool_max = 1});
    const Outbox outbox(*store);
    const auto batch = static_cast<std::uint32_t>(std::stoul(arguments[2]));
    const auto step = [&] {
        outbox.release(outbox.claim(outbox.owner(), std::chrono::minutes{5}, batch));
        return true;
    };
    return torture::worker_loop(step, [](const std::string&) {});
}
