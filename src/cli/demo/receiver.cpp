#include "cli/demo/receiver.hpp"

#include <exception>

#include "postroom/open_store.hpp"
#include "postroom/transaction.hpp"

namespace postroom::cli::demo {

Receiver::Receiver(const std::string& path)
    : store_(open_store("sqlite:" + path, {.deploy_schema = true})), inbox_(*store_) {
    const auto tx = store_->begin();
    tx->execute({.sql = "CREATE TABLE shipments (order_id INTEGER NOT NULL)"});
    tx->commit();
}

void Receiver::go_up() {
    loses_answers_ = false;
    const auto answer = [this](const HttpRequest& request) {
        const std::optional<int> status = take(request);
        return status ? HttpAnswer{.status = *status} : HttpAnswer{.hang_up = true};
    };
    server_ = std::make_unique<HttpServer>(answer, port_.number());
}

void Receiver::go_down() { server_.reset(); }

// The status to answer with; none: the answer gets lost.
// [take]
std::optional<int> Receiver::take(const HttpRequest& request) {
    if (request.body == "poison") return is_repaired_ ? 204 : 500;
    try {
        const InboxKey key{.source = "shop", .message_id = request.headers.at("webhook-id")};
        const auto tx = store_->begin();
        const bool is_new = inbox_.once(*tx, key, [&] {
            tx->execute({.sql = "INSERT INTO shipments VALUES (?)",
                         .params = {std::int64_t{std::stoi(request.body)}}});
        });
        tx->commit();  // the shipment and the mark that it was made: both, or neither
        ++(is_new ? taken_ : duplicates_);
    } catch (const std::exception&) {
        return 500;  // it comes again
    }
    if (loses_answers_) return std::nullopt;
    return 204;
}
// [/take]

std::set<int> Receiver::shipped_orders() const {
    std::set<int> orders;
    const auto tx = store_->begin();
    for (const auto& row : tx->execute({.sql = "SELECT order_id FROM shipments"}))
        orders.insert(std::stoi(row.at(0).value()));
    return orders;
}

std::size_t Receiver::shipments() const {
    const auto tx = store_->begin();
    return tx->execute({.sql = "SELECT order_id FROM shipments"}).size();
}

}  // namespace postroom::cli::demo
