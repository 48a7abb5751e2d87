// A short story: a shop on SQLite places orders and tells the world about them, whatever happens in
// between.
//
// Each order and its message are written in one transaction. A rolled-back order sends nothing. A
// worker that is killed between delivering and acknowledging costs a second delivery, never a lost
// one.
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include <postroom/backend/sqlite.hpp>
#include <postroom/handler.hpp>
#include <postroom/outbox.hpp>

namespace {

using namespace std::chrono_literals;

// [typed]
struct OrderPlaced {
    static constexpr std::string_view topic = "order.placed";
    int order_id = 0;
};
std::string to_payload(const OrderPlaced& m) { return std::to_string(m.order_id); }
void from_payload(std::string_view s, OrderPlaced& m) { m.order_id = std::stoi(std::string(s)); }
// [/typed]

void run(sqlite3* db, const std::string& sql) {
    char* error = nullptr;
    if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error) != SQLITE_OK) {
        std::fprintf(stderr, "%s: %s\n", sql.c_str(), error);
        std::exit(1);
    }
}

enum class End { commit, rollback };

// [place]
void place_order(postroom::Store& store, const postroom::Outbox& outbox, int order_id, End end) {
    const auto tx = store.begin();
    run(postroom::sqlite::handle(*tx),
        "INSERT INTO orders VALUES (" + std::to_string(order_id) + ")");
    outbox.enqueue(*tx, OrderPlaced{order_id});
    if (end == End::commit) tx->commit();  // order and message stand; else neither does
}
// [/place]

// Handles what is ready, until nothing is; counts deliveries by message id, as a receiver would.
void deliver(const postroom::Outbox& outbox, std::map<std::string, int>& deliveries) {
    postroom::Routes routes;
    routes.on<OrderPlaced>([&](const OrderPlaced& order, const postroom::Message& raw) {
        const int times = ++deliveries[raw.message_id.str()];
        std::printf("    mail for order %d sent%s\n", order.order_id, times > 1 ? " (again)" : "");
    });
    while (postroom::process_one(outbox, routes)) {
    }
}

// A worker that is killed at the worst moment: the mail is out, the database does not know.
void crash_between_delivery_and_ack(const std::string& path) {
    const pid_t child = fork();
    if (child == 0) {
        const auto store = postroom::sqlite::open_store(path);
        const postroom::Outbox outbox(*store, {.queue = {.lease = 1s}});
        postroom::Routes routes;
        routes.on<OrderPlaced>([](const OrderPlaced& order) {
            std::printf(
                "    mail for order %d sent by a worker ... which is killed before it can say so\n",
                order.order_id);
            std::fflush(stdout);
            kill(getpid(), SIGKILL);
        });
        postroom::process_one(outbox, routes);
        _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status)) {
        std::fprintf(stderr, "the worker was meant to be killed\n");
        std::exit(1);
    }
}

int tell(const std::string& path) {
    const auto store = postroom::sqlite::open_store(path, {.deploy_schema = true});
    const postroom::Outbox outbox(*store, {.queue = {.lease = 1s}});
    std::map<std::string, int> deliveries;
    {
        const auto tx = store->begin();
        run(postroom::sqlite::handle(*tx), "CREATE TABLE orders (id INTEGER PRIMARY KEY)");
        tx->commit();
    }

    std::puts("1. Three orders, each written together with its message:");
    for (int order = 1; order <= 3; ++order) place_order(*store, outbox, order, End::commit);
    deliver(outbox, deliveries);

    std::puts("2. An order that is rolled back sends nothing:");
    place_order(*store, outbox, 4, End::rollback);
    deliver(outbox, deliveries);
    std::printf("    %llu messages waiting\n",
                static_cast<unsigned long long>(outbox.counts().ready));

    std::puts("3. A crash between delivery and acknowledgement:");
    std::fflush(stdout);
    place_order(*store, outbox, 5, End::commit);
    crash_between_delivery_and_ack(path);
    std::printf(
        "    the message is still there: %llu in progress; its lease runs out in a second\n",
        static_cast<unsigned long long>(outbox.counts().in_progress));
    std::this_thread::sleep_for(1200ms);
    deliver(outbox, deliveries);

    const postroom::Counts counts = outbox.counts();
    std::printf(
        "\n4 orders stand, %zu messages delivered here, 1 of them a second time; %llu left, 0 "
        "lost.\n",
        deliveries.size(), static_cast<unsigned long long>(counts.ready + counts.in_progress));
    return deliveries.size() == 4 && counts.ready + counts.in_progress == 0 ? 0 : 1;
}

}  // namespace

int main() {
    std::string directory =
        (std::filesystem::temp_directory_path() / "postroom-first-message-XXXXXX").string();
    if (mkdtemp(directory.data()) == nullptr) {
        std::perror("mkdtemp");
        return 1;
    }
    int result = 1;
    try {
        result = tell(directory + "/shop.db");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "first_message: %s\n", error.what());
    }
    std::filesystem::remove_all(directory);
    return result;
}
