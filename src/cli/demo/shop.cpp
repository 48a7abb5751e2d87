#include "cli/demo/shop.hpp"

#include <chrono>

#include "postroom/open_store.hpp"
#include "postroom/transaction.hpp"

namespace postroom::cli::demo {

Shop::Shop(const std::string& path)
    : store_(open_store("sqlite:" + path, {.deploy_schema = true})), outbox_(*store_) {
    const auto tx = store_->begin();
    tx->execute({.sql = "CREATE TABLE orders (id INTEGER PRIMARY KEY)"});
    tx->commit();
}

// [place]
void Shop::place(int order_id, const std::string& payload, End end) {
    const auto tx = store_->begin();
    tx->execute({.sql = "INSERT INTO orders VALUES (?)", .params = {std::int64_t{order_id}}});
    outbox_.enqueue(*tx,
                    {.topic = "order.placed", .payload = payload, .content_type = "text/plain"});
    if (end == End::commit) tx->commit();  // order and message stand; else neither does
    ++(end == End::commit ? placed_ : rolled_back_);
}
// [/place]

void Shop::open() {
    orders_ = std::jthread([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            const int order = ++last_order_;
            place(order, std::to_string(order), order % 10 == 0 ? End::rollback : End::commit);
            std::this_thread::sleep_for(std::chrono::milliseconds{15});
        }
    });
}

void Shop::close() {
    orders_.request_stop();
    orders_.join();
}

void Shop::place_poison() { place(++last_order_, "poison", End::commit); }

std::set<int> Shop::orders() const {
    std::set<int> orders;
    const auto tx = store_->begin();
    for (const auto& row : tx->execute({.sql = "SELECT id FROM orders"}))
        orders.insert(std::stoi(row.at(0).value()));
    return orders;
}

}  // namespace postroom::cli::demo
