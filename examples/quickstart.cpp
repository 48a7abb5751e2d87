// The quickstart of the README, as it stands there.
#include <cstdio>
#include <string>
#include <thread>

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
    postroom::Dispatcher dispatcher(*store);
    dispatcher.on<OrderPlaced>([](const OrderPlaced& order, const postroom::Message& raw) {
        std::printf("order %d, message %s\n", order.order_id, raw.message_id.str().c_str());
    });  // return = done, throw = again later
    dispatcher.start();

    auto tx = store->begin();  // your transaction
    tx->execute({.sql = "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)"});
    tx->execute({.sql = "INSERT INTO orders DEFAULT VALUES"});
    outbox.enqueue(*tx, OrderPlaced{17});  // the message is part of it
    tx->commit();                          // both stand, or neither; the handler is called

    while (outbox.counts().oldest)  // a server would go on serving
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
}
