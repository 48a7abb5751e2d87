// One message through the installed library: enqueued, claimed, acknowledged.
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include "postroom/backend/sqlite.hpp"
#include "postroom/outbox.hpp"

namespace {

bool sends_one_message(const char* path) {
    const std::unique_ptr<postroom::Store> store =
        postroom::sqlite::open_store(path, {.deploy_schema = true});
    const postroom::Outbox outbox(*store);
    outbox.enqueue({.topic = "order.placed", .payload = "{}"});

    const std::vector<postroom::Message> claimed =
        outbox.claim(outbox.owner(), std::chrono::seconds{30}, 10);
    if (claimed.size() != 1 || claimed.front().topic != "order.placed") return false;
    const std::vector<postroom::WorkItemId> ids{claimed.front().id};
    return outbox.ack(outbox.owner(), ids) == 1 && outbox.counts().ready == 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc == 2 && sends_one_message(argv[1])) return 0;
        std::fputs("the message did not come through\n", stderr);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    return 1;
}
