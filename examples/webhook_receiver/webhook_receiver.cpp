// webhook_receiver: takes payments from webhooks, each exactly once.
//
//   webhook_receiver
//       Shows itself: serves on a free port, sends itself genuine, repeated, forged, late and early
//       webhooks, and compares what came of them with what should. Exit status 0 when all is well.
//   webhook_receiver --serve COUNT [--port PORT] [--database FILE]
//       Answers COUNT requests on http://127.0.0.1:PORT/webhooks. The secret ("whsec_...") is taken
//       from the environment variable WEBHOOK_SECRET.
//
// The regions between [name] and [/name] are shown in docs/guides/receiving-webhooks.md.

#include <stdlib.h>

#include <atomic>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "postroom/backend/sqlite.hpp"
#include "postroom/error.hpp"
#include "postroom/handler.hpp"
#include "postroom/inbox.hpp"
#include "postroom/testing.hpp"
#include "postroom/webhooks.hpp"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace webhooks = postroom::webhooks;
using tcp = asio::ip::tcp;
using namespace std::chrono_literals;

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

constexpr std::uint64_t body_bytes_max = std::uint64_t{1024} * 1024;
constexpr std::uint32_t header_bytes_max = 32 * 1024;
constexpr std::size_t connections_max = 64;
constexpr std::chrono::seconds request_timeout = 10s;

Response respond(http::status status, std::string text) {
    Response response(status, 11);
    response.set(http::field::content_type, "text/plain");
    response.keep_alive(false);
    response.body() = std::move(text) + "\n";
    response.prepare_payload();
    return response;
}

std::string describe(const webhooks::Receipt& receipt) {
    switch (receipt.outcome) {
        case webhooks::Receipt::Outcome::accepted:
            return "accepted";
        case webhooks::Receipt::Outcome::duplicate:
            return "duplicate";
        case webhooks::Receipt::Outcome::rejected:
            break;
    }
    return "rejected: " + std::string(to_string(receipt.authenticity));
}

// [answer]
Response answer(const webhooks::Receiver& receiver, const Request& request) {
    if (request.target() != "/webhooks") return respond(http::status::not_found, "not found");
    if (request.method() != http::verb::post)
        return respond(http::status::method_not_allowed, "POST only");

    std::vector<webhooks::HeaderView> headers;
    for (const auto& field : request) headers.push_back({field.name_string(), field.value()});
    try {
        const webhooks::Receipt receipt = receiver.receive(headers, request.body());
        return respond(http::int_to_status(static_cast<unsigned>(http_status(receipt))),
                       describe(receipt));
    } catch (const postroom::Error& error) {
        // Not stored: the sender must come again.
        std::cerr << "inbox: " << error.what() << '\n';
        return respond(http::status::service_unavailable, "try again later");
    }
}
// [/answer]

// One connection: one request, one answer.
class Session : public std::enable_shared_from_this<Session> {
public:
    using Answer = std::function<Response(const Request&)>;

    // `ended` is called when the connection is closed, with whether a request was answered.
    Session(tcp::socket socket, const Answer& answer, std::function<void(bool)> ended)
        : stream_(std::move(socket)), answer_(answer), ended_(std::move(ended)) {
        parser_.body_limit(body_bytes_max);
        parser_.header_limit(header_bytes_max);
    }
    ~Session() { ended_(answered_); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    void start() {
        stream_.expires_after(request_timeout);
        http::async_read(stream_, buffer_, parser_,
                         [self = shared_from_this()](beast::error_code error, std::size_t) {
                             self->read_done(error);
                         });
    }

private:
    void read_done(beast::error_code error) {
        if (error == http::error::body_limit) {
            response_ = respond(http::status::payload_too_large, "body too large");
        } else if (error == http::error::header_limit) {
            response_ = respond(http::status::request_header_fields_too_large, "header too large");
        } else if (error) {
            return;  // closed, too slow, or not HTTP: nobody to answer
        } else {
            response_ = answer_(parser_.get());
        }
        stream_.expires_after(request_timeout);
        http::async_write(stream_, response_,
                          [self = shared_from_this()](beast::error_code failed, std::size_t) {
                              self->answered_ = true;
                              self->stream_.socket().shutdown(tcp::socket::shutdown_send, failed);
                          });
    }

    beast::tcp_stream stream_;
    const Answer& answer_;
    const std::function<void(bool)> ended_;
    beast::flat_buffer buffer_;
    http::request_parser<http::string_body> parser_;
    Response response_;
    bool answered_ = false;
};

// The HTTP server, on the loopback interface only. run() serves in the calling thread.
class Server {
public:
    Server(std::uint16_t port, Session::Answer answer)
        : answer_(std::move(answer)),
          acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), port)) {}

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

    // Until `count` requests are answered or stop() is called from another thread.
    void run(std::uint64_t count = UINT64_MAX) {
        left_ = count;
        accept();
        context_.run();
    }
    void stop() { context_.stop(); }

private:
    void accept() {
        acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
            if (!error) {
                ++open_;
                std::make_shared<Session>(std::move(socket), answer_, [this](bool answered) {
                    session_ended(answered);
                })->start();
            }
            if (open_ < connections_max) accept();
        });
    }

    void session_ended(bool answered) {
        // Connections that are open when the server is destroyed come here too.
        if (open_-- == connections_max && !context_.stopped()) accept();
        if (answered && --left_ == 0) stop();
    }

    const Session::Answer answer_;
    std::uint64_t left_ = 0;
    std::size_t open_ = 0;
    asio::io_context context_{1};
    tcp::acceptor acceptor_;
};

// [handler]
postroom::Routes payment_routes() {
    postroom::Routes routes;
    routes.in_transaction("payment.received", [](const postroom::Message& message,
                                                 postroom::HandlerContext& context) {
        // The row and the message's done mark commit together, or neither does.
        context.transaction().execute(
            {"INSERT INTO payments (message_id, amount) VALUES (?1, json_extract(?2, '$.amount'))",
             {message.message_id.str(), message.payload}});
    });
    return routes;
}
// [/handler]

// [worker]
void handle_payments(std::stop_token stop, const postroom::Inbox& inbox) {
    const postroom::Routes routes = payment_routes();
    while (!stop.stop_requested()) {
        try {
            if (process_one(inbox, routes, {}, stop)) continue;
        } catch (const postroom::Error& error) {
            std::cerr << "worker: " << error.what() << '\n';
        }
        std::this_thread::sleep_for(20ms);
    }
}
// [/worker]

// [store]
std::unique_ptr<postroom::Store> open_shop(const std::string& path) {
    std::unique_ptr<postroom::Store> store =
        postroom::sqlite::open_store(path, {.deploy_schema = true});
    const std::unique_ptr<postroom::Transaction> tx = store->begin();
    // No unique key on message_id: that a payment is there once is the inbox's doing.
    tx->execute(
        {"CREATE TABLE IF NOT EXISTS payments ("
         "id INTEGER PRIMARY KEY, message_id TEXT NOT NULL, amount INTEGER NOT NULL)",
         {}});
    tx->commit();
    return store;
}
// [/store]

// Everything that receives: the store, the inbox, the scheme in front of it, server and worker.
class Shop {
public:
    Shop(const std::string& database, const webhooks::Key& key, std::uint16_t port)
        : store_(open_shop(database)),
          scheme_({key}),
          server_(port, [this](const Request& request) { return answer(receiver_, request); }) {}

    Server& server() { return server_; }
    webhooks::Scheme& scheme() { return scheme_; }
    const postroom::Inbox& inbox() const { return inbox_; }
    postroom::Store& store() { return *store_; }

private:
    const std::unique_ptr<postroom::Store> store_;
    const postroom::Inbox inbox_{*store_};
    webhooks::StandardWebhooks scheme_;
    // [receiver]
    const webhooks::Receiver receiver_{
        inbox_, scheme_, {.source = "payment-provider", .topic = "payment.received"}};
    // [/receiver]
    Server server_;
    std::jthread worker_{[this](std::stop_token stop) { handle_payments(stop, inbox_); }};
};

// The provider's side: posts `body` with `headers` and returns the answer.
Response post(std::uint16_t port, const std::vector<webhooks::Header>& headers,
              const std::string& body) {
    asio::io_context context;
    beast::tcp_stream stream(context);
    stream.connect(tcp::endpoint(asio::ip::address_v4::loopback(), port));
    Request request(http::verb::post, "/webhooks", 11);
    request.set(http::field::host, "127.0.0.1");
    request.set(http::field::content_type, "application/json");
    for (const webhooks::Header& header : headers) request.set(header.name, header.value);
    request.body() = body;
    request.prepare_payload();
    http::write(stream, request);
    beast::flat_buffer buffer;
    Response response;
    http::read(stream, buffer, response);
    return response;
}

std::string payment(int amount) {
    return R"({"type":"payment.received","amount":)" + std::to_string(amount) + "}";
}

// Sends webhooks to a Shop and keeps count of answers that are not what they should be.
class Demonstration {
public:
    explicit Demonstration(const std::string& database)
        : shop_(database, old_key, 0), serving_([this] { shop_.server().run(); }) {}
    ~Demonstration() { shop_.server().stop(); }
    Demonstration(const Demonstration&) = delete;
    Demonstration& operator=(const Demonstration&) = delete;

    // The number of surprises.
    int run() {
        send_one_by_one();
        change_keys();
        send_all_at_once();
        std::cout << "\nIn the table payments:\n";
        for (const auto& row : rows("SELECT message_id, count(*), sum(amount) FROM payments "
                                    "WHERE message_id LIKE 'msg_%' GROUP BY 1 ORDER BY 1"))
            std::cout << "  " << row[0].value() << ": " << row[1].value() << " time, "
                      << row[2].value() << " cents\n";
        return surprises_;
    }

private:
    inline static const webhooks::Key old_key{"2024", "whsec_cG9zdHJvb20gZXhhbXBsZSBrZXkgMjAyNC4u"};
    inline static const webhooks::Key new_key{"2025", "whsec_cG9zdHJvb20gZXhhbXBsZSBrZXkgMjAyNS4u"};

    void send_one_by_one() {
        const std::vector<webhooks::Header> first = sender_.sign("msg_1", payment(1250));
        expect("a payment", "accepted", first, payment(1250));
        expect("the same again at once", "duplicate", first, payment(1250));
        wait_until_handled();
        expect("the same again after it was handled", "duplicate", first, payment(1250));
        expect("the same with another amount", "rejected: no_matching_signature", first,
               payment(9999));

        const webhooks::StandardWebhooks forger({new_key});
        expect("a forged payment", "rejected: no_matching_signature",
               forger.sign("msg_2", payment(1)), payment(1));
        expect("the genuine one with that id", "accepted", sender_.sign("msg_2", payment(300)),
               payment(300));
        expect("a payment signed ten minutes ago", "rejected: timestamp_too_old",
               signed_at(-10min, "msg_3"), payment(700));
        expect("a payment signed ten minutes from now", "rejected: timestamp_in_future",
               signed_at(10min, "msg_3"), payment(700));
        expect("a payment without a signature", "rejected: missing_header", {}, payment(700));
        wait_until_handled();
        check("payments in the table", 2, count("SELECT count(*) FROM payments"));
    }

    void change_keys() {
        // [rotation]
        shop_.scheme().add_key(new_key);
        sender_.add_key(new_key);  // signs with both
        sender_.revoke_key(old_key.name);
        // [/rotation]
        expect("a payment signed with the new key", "accepted", sender_.sign("msg_3", payment(700)),
               payment(700));
        shop_.scheme().revoke_key(old_key.name);
        const webhooks::StandardWebhooks old_sender({old_key});
        expect("a payment signed with the revoked key", "rejected: no_matching_signature",
               old_sender.sign("msg_4", payment(1)), payment(1));
    }

    void send_all_at_once() {
        constexpr int senders = 8;
        constexpr int payments = 25;
        std::atomic<int> accepted = 0;
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < senders; ++i)
                threads.emplace_back([&] {
                    for (int n = 0; n < payments; ++n) {
                        const std::string id = "burst_" + std::to_string(n);
                        if (send(sender_.sign(id, payment(n)), payment(n)) == "accepted")
                            ++accepted;
                    }
                });
        }
        wait_until_handled();
        std::cout << '\n'
                  << senders << " senders, each with the same " << payments << " payments\n";
        check("accepted", payments, accepted);
        check("payments in the table", payments,
              count("SELECT count(*) FROM payments WHERE message_id LIKE 'burst_%'"));
        check("different payments", payments,
              count("SELECT count(DISTINCT message_id) FROM payments "
                    "WHERE message_id LIKE 'burst_%'"));
    }

    std::vector<webhooks::Header> signed_at(postroom::Duration offset, std::string_view id) const {
        const postroom::ManualClock clock(postroom::SystemClock().now() + offset);
        return webhooks::StandardWebhooks({old_key}, {.clock = &clock}).sign(id, payment(700));
    }

    std::string send(const std::vector<webhooks::Header>& headers, const std::string& body) {
        std::string text = post(shop_.server().port(), headers, body).body();
        return text.substr(0, text.find('\n'));
    }

    void expect(std::string_view what, const std::string& expected,
                const std::vector<webhooks::Header>& headers, const std::string& body) {
        const std::string got = send(headers, body);
        std::cout << what << ": " << got << '\n';
        if (got != expected) complain(expected);
    }

    void check(std::string_view what, std::int64_t expected, std::int64_t got) {
        std::cout << what << ": " << got << '\n';
        if (got != expected) complain(std::to_string(expected));
    }

    void complain(const std::string& expected) {
        ++surprises_;
        std::cout << "    SURPRISE: this should be " << expected << '\n';
    }

    void wait_until_handled() {
        for (int i = 0; i < 1500; ++i) {
            const postroom::Counts counts = shop_.inbox().counts();
            if (counts.ready + counts.in_progress == 0) return;
            std::this_thread::sleep_for(20ms);
        }
        complain("handled within 30 seconds");
    }

    postroom::SqlRows rows(const std::string& sql) {
        return shop_.store().begin()->execute({sql, {}});
    }
    std::int64_t count(const std::string& sql) { return std::stoll(rows(sql).at(0).at(0).value()); }

    Shop shop_;
    std::jthread serving_;
    webhooks::StandardWebhooks sender_{{old_key}};
    int surprises_ = 0;
};

// A folder that goes with the object.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "webhooks-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::string file(std::string_view name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

struct Arguments {
    std::optional<std::uint64_t> serve{};
    std::uint16_t port = 8080;
    std::string database = "webhooks.db";
};

std::uint64_t number(const std::string& text, std::uint64_t max) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > max)
        throw std::invalid_argument("not a number, or too large: " + text);
    return value;
}

Arguments parse(const std::vector<std::string>& words) {
    Arguments arguments;
    if (words.size() % 2 != 0) throw std::invalid_argument("every option takes a value");
    for (std::size_t i = 0; i < words.size(); i += 2) {
        const std::string& value = words[i + 1];
        if (words[i] == "--serve") {
            arguments.serve = number(value, UINT64_MAX);
        } else if (words[i] == "--port") {
            arguments.port = static_cast<std::uint16_t>(number(value, UINT16_MAX));
        } else if (words[i] == "--database") {
            arguments.database = value;
        } else {
            throw std::invalid_argument("unknown option " + words[i]);
        }
    }
    return arguments;
}

int serve(const Arguments& arguments) {
    const char* secret = std::getenv("WEBHOOK_SECRET");
    if (secret == nullptr) throw std::invalid_argument("WEBHOOK_SECRET is not set");
    Shop shop(arguments.database, {"current", secret}, arguments.port);
    std::cout << "http://127.0.0.1:" << shop.server().port() << "/webhooks" << std::endl;
    if (*arguments.serve > 0) shop.server().run(*arguments.serve);
    return EXIT_SUCCESS;
}

int demonstrate() {
    const TemporaryFolder folder;
    Demonstration demonstration(folder.file("shop.db"));
    const int surprises = demonstration.run();
    std::cout << (surprises == 0 ? "\nAll as it should be.\n" : "\nNot as it should be.\n");
    return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Arguments arguments = parse({argv + 1, argv + argc});
        return arguments.serve ? serve(arguments) : demonstrate();
    } catch (const std::exception& error) {
        std::cerr << "webhook_receiver: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
