// The quickstart of the README, as it stands there.
#include <sqlite3.h>

#include <cstdio>
#include <string>

#include <postroom/backend/sqlite.hpp>
#include <postroom/postroom.hpp>

struct OrderPlaced {
    static constexpr std::string_view topic = "order.placed";
    int order_id = 0;
};
std::string to_payload(const OrderPlaced& m) { return std::to_string(m.order_id); }
void from_payload(std::string_view s, OrderPlaced& m) { m.order_id = std::stoi(std::string(s)); }

int main() {
    auto store = postroom::sqlite::open_store("shop.db", {.deploy_schema = true});
    postroom::Outbox outbox(*store);

    auto tx = store->begin();  // your transaction
    tx->execute({.sql = "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)"});
    sqlite3_exec(postroom::sqlite::handle(*tx), "INSERT INTO orders DEFAULT VALUES", nullptr,
                 nullptr, nullptr);
    outbox.enqueue(*tx, OrderPlaced{17});  // the message is part of it
    tx->commit();                          // both stand, or neither

    postroom::Routes routes;
    routes.on<OrderPlaced>([](const OrderPlaced& order, const postroom::Message& raw) {
        std::printf("order %d, message %s\n", order.order_id, raw.message_id.str().c_str());
    });  // return = done, throw = again later
    while (postroom::process_one(outbox, routes)) {
    }
}
