// A receiver of the torture whose effect and done mark commit together, as a program.
//
//   inbox_child URL SEED LEASE_MS
#include <chrono>
#include <string>

#include "postroom/open_store.hpp"
#include "torture/receiver_worker.hpp"
#include "torture/worker_loop.hpp"

int main(int count, char** arguments) {
    if (count != 4) return 2;
    using namespace postroom;
    torture::ReceiverWorker worker(open_store(arguments[1], {.pool_max = 2}),
                                   {.seed = std::stoull(arguments[2]),
                                    .lease = std::chrono::milliseconds{std::stoi(arguments[3])},
                                    .effects_table = "effect"});
    return torture::worker_loop([&] { return worker.step(); }, [](const std::string&) {});
}
