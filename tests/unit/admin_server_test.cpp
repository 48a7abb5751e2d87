// The admin server with its sockets and threads, in this process: here the sanitizers see it.
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <atomic>
#include <latch>
#include <thread>

#include "base/host_name.hpp"
#include "base/mutex.hpp"
#include "conformance/forwarding_store.hpp"
#include "postroom/admin.hpp"
#include "postroom/inbox.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"
#include "support/source_file.hpp"
#include "support/wait_until.hpp"
#include "unit/http_client.hpp"

namespace postroom::test::admin_server_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::chrono::seconds patience{60};

class AdminServing : public testing::Test {
protected:
    void start(AdminOptions options = {}) {
        options.listen = "127.0.0.1:0";
        options.sample_interval = 20ms;
        // Tests ask again and again until they see what they wait for.
        options.limits.requests_per_second = 1e6;
        options.limits.burst = 1e6;
        options.log = [this](LogLevel, std::string_view line) {
            const base::MutexLock lock(mutex_);
            logged_ += std::string(line) + "\n";
        };
        server_.emplace(provider(), metrics_, std::move(options));
        server_->start();
    }

    // Before what derived tests let it serve.
    void TearDown() override { server_.reset(); }

    virtual StoreProvider& provider() { return stores_; }

    std::string logged() {
        const base::MutexLock lock(mutex_);
        return logged_;
    }

    HttpClient connect() { return HttpClient(server_->port()); }

    static std::string get_text(const std::string& target, const std::string& more = "") {
        return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", target, more);
    }
    std::string get(const std::string& target) {
        HttpClient client = connect();
        client.send(get_text(target, "Connection: close\r\n"));
        return client.read_all();
    }
    std::string post(const std::string& target, const std::string& body) {
        HttpClient client = connect();
        client.send(
            fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: "
                        "application/json\r\nContent-Length: {}\r\n\r\n{}",
                        target, body.size(), body));
        return client.read_all();
    }

    MemoryStore memory_{{.store_id = "main"}};
    FixedStores stores_{memory_};
    StoreMetrics metrics_;
    std::optional<AdminServer> server_;

private:
    base::Mutex mutex_;
    std::string logged_ POSTROOM_GUARDED_BY(mutex_);
};

TEST_F(AdminServing, AnswersSeveralRequestsOnOneConnection) {
    start();
    HttpClient client = connect();
    for (const std::string target : {"/livez", "/api/session", "/nowhere", "/livez"}) {
        client.send(get_text(target));
        EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 ")) << target;
    }
}

TEST_F(AdminServing, AnswersRequestsThatCameTogether) {
    start();
    HttpClient client = connect();
    client.send(get_text("/livez") + get_text("/api/messages") +
                get_text("/metrics", "Connection: close\r\n"));
    EXPECT_THAT(client.read_all(), AllOf(HasSubstr("ok\n"), HasSubstr("\"messages\":[]"),
                                         HasSubstr("postroom_build_info")));
}

TEST_F(AdminServing, O8_ListsByStateAndTopicPageByPage) {
    const Outbox outbox(memory_);
    for (const std::string topic : {"order.placed", "order.paid", "order.paid"})
        outbox.enqueue({.topic = topic, .payload = "1"});
    outbox.ack(outbox.claim(OwnerToken::generate(), 1min, 1));
    start();
    EXPECT_THAT(get("/api/messages?state=done"),
                AllOf(HasSubstr("order.placed"), Not(HasSubstr("order.paid"))));
    EXPECT_THAT(get("/api/messages?state=ready"),
                AllOf(HasSubstr("order.paid"), Not(HasSubstr("order.placed"))));
    EXPECT_THAT(get("/api/messages?topic=order.placed"),
                AllOf(HasSubstr("order.placed"), Not(HasSubstr("order.paid"))));
    EXPECT_THAT(get("/api/messages?limit=1&order=oldest"),
                AllOf(HasSubstr("order.placed"), Not(HasSubstr("order.paid")),
                      HasSubstr("\"next_cursor\"")));
}

TEST_F(AdminServing, O8_ListsWhatHasFailed) {
    const Outbox outbox(memory_);
    outbox.enqueue({.topic = "fine", .payload = "1"});
    outbox.enqueue({.topic = "failing", .payload = "1", .priority = 1});
    const OwnerToken me = OwnerToken::generate();
    const std::vector<Message> claimed =
        memory_.claim(Queue::outbox, {.owner = me, .lease = 1min, .batch = 1});
    ASSERT_EQ(claimed.size(), 1U);
    outbox.fail(std::vector{*claimed.front().lease}, "broken");
    start();
    EXPECT_THAT(get("/api/messages?failed=true"),
                AllOf(HasSubstr("\"failing\""), Not(HasSubstr("\"fine\""))));
}

TEST_F(AdminServing, TellsWhatItServes) {
    start();
    const std::string answer = get("/api/openapi.yaml");
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("application/yaml"),
                              testing::EndsWith(read_source_file("docs/reference/openapi.yaml"))));
}

TEST_F(AdminServing, WithoutATokenOneMayLookAndNotChange) {
    start();
    EXPECT_THAT(get("/api/messages"), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(post("/api/topics/pause", R"({"topic": "a"})"),
                AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("admin.anonymous")));
}

TEST_F(AdminServing, ChangesWhatAnOperatorWants) {
    start({.anonymous = AdminRole::operate});
    EXPECT_THAT(post("/api/topics/pause", R"({"topic": "a"})"), HasSubstr("\"paused\":true"));
    EXPECT_THAT(get("/api/audit"), HasSubstr("\"what\":\"pause\""));
}

TEST_F(AdminServing, TheAuditLogTellsWhichMessagesFromTheBeginning) {
    start({.anonymous = AdminRole::operate});
    const WorkItemId id = Outbox(memory_).enqueue({.topic = "a", .payload = "1"}).id;
    EXPECT_THAT(post("/api/operations",
                     fmt::format(R"({{"action":"discard","ids":["{}"]}})", id.to_string())),
                StartsWith("HTTP/1.1 202 "));
    const auto log = [&] { return get("/api/audit"); };
    EXPECT_TRUE(wait_until([&] { return log().find("\"done\"") != std::string::npos; }, patience));
    const std::string entry =
        fmt::format(R"("what":"discard","target":"outbox {}","count":)", id.to_string());
    EXPECT_THAT(log(), AllOf(HasSubstr(entry + R"(1,"outcome":"done")"),
                             HasSubstr(entry + R"(0,"outcome":"begun")")));
}

// A viewer hears that something changed; who did it, and to what, is in the audit log.
TEST_F(AdminServing, TheStreamDoesNotTellWhoChangedWhat) {
    start({.anonymous = AdminRole::operate});
    HttpClient client = connect();
    client.send(get_text("/api/live"));
    client.read_until("event: overview");
    post("/api/topics/pause", R"({"topic": "a"})");
    EXPECT_THAT(client.read_until("pause\""),
                HasSubstr("event: change\ndata: {\"store\":\"main\",\"what\":\"pause\""));
}

// A script with an empty variable must not redrive everything.
TEST_F(AdminServing, AnEmptyFingerprintIsNotAllDeadLetters) {
    start({.anonymous = AdminRole::operate});
    EXPECT_THAT(get("/api/messages?fingerprint="),
                AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("\"field\":\"fingerprint\"")));
    EXPECT_THAT(get("/api/messages?fingerprint=0123456789abcdef&state=ready"),
                AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("only dead messages")));
    EXPECT_THAT(post("/api/operations",
                     R"({"action":"redrive","dry_run":true,"filter":{"fingerprint":""}})"),
                AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("\"field\":\"fingerprint\"")));
    EXPECT_THAT(
        post("/api/operations", R"({"action":"redrive","dry_run":true,"filter":{"topic":null}})"),
        AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("'topic' is null")));
}

TEST_F(AdminServing, TellsWhatCameAgainHereAndInOtherProcesses) {
    const Inbox inbox(memory_);
    const ReceivedMessage message{.topic = TopicName("t"),
                                  .source = "shop",
                                  .message_id = "1",
                                  .payload = "",
                                  .hash = content_hash("a")};
    for (int i = 0; i < 3; ++i) inbox.enqueue(message);
    inbox.enqueue({.topic = TopicName("t"),
                   .source = "shop",
                   .message_id = "1",
                   .payload = "",
                   .hash = content_hash("b")});
    const auto report = [&](const std::string& host, std::int64_t pid,
                            const SourceRepeats& repeats) {
        WorkerReport worker{.owner = OwnerToken::generate(), .host = host, .pid = pid};
        worker.started = worker.last_seen = memory_.now();
        worker.interval = 1h;
        worker.repeats = {repeats};
        memory_.report_worker(worker);
    };
    report("far", 7, {.source = "bank", .duplicates = 40});
    report("far", 8, {.source = "shop", .duplicates = 10, .hash_mismatches = 2});
    report(base::host_name(), getpid(), {.source = "shop", .duplicates = 999});
    start();
    const std::string all =
        R"({"sources":[{"store":"main","source":"bank","duplicates":40,"hash_mismatches":0},)"
        R"({"store":"main","source":"shop","duplicates":13,"hash_mismatches":3}],"processes":3})";
    EXPECT_TRUE(wait_until([&] { return get("/api/inbox/sources").find(all) != std::string::npos; },
                           patience))
        << get("/api/inbox/sources");
    EXPECT_THAT(get("/api/inbox/sources?store=none"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(AdminServing, StreamsFiguresUntilItStops) {
    start();
    HttpClient client = connect();
    client.send(get_text("/api/live"));
    EXPECT_THAT(client.read_until("event: overview"), StartsWith("HTTP/1.1 200 "));
    server_->stop();
    client.read_all();  // it ends
    server_->stop();    // and again nothing happens
}

// Each piece is far below the limit; what they add up to is not.
TEST_F(AdminServing, HeadersInSmallPiecesAreCountedTogether) {
    start({.limits = {.header_bytes_max = 4096}});
    HttpClient client = connect();
    client.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n");
    for (int i = 0; i < 80; ++i) {
        client.send(fmt::format("n{}: {}\r\n", i, std::string(100, 'x')));
        std::this_thread::sleep_for(2ms);
    }
    client.send("Connection: close\r\n\r\n");
    EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 431 "));
}

TEST_F(AdminServing, TakesNoMoreThanSoManyHeaders) {
    start({.limits = {.headers_max = 10}});
    const auto status_with = [&](int count) {
        std::string more = "Connection: close\r\n";
        for (int i = 2; i < count; ++i) more += "a:b\r\n";
        HttpClient client = connect();
        client.send(get_text("/livez", more));
        return client.read_all().substr(0, 12);
    };
    EXPECT_EQ(status_with(10), "HTTP/1.1 200");
    EXPECT_EQ(status_with(11), "HTTP/1.1 431");
}

TEST_F(AdminServing, OneCallerCannotTakeAllStreams) {
    start({.limits = {.streams_max = 4, .streams_per_caller_max = 2}});
    std::vector<std::unique_ptr<HttpClient>> streams;
    for (int i = 0; i < 3; ++i) {
        streams.push_back(std::make_unique<HttpClient>(server_->port()));
        streams.back()->send(get_text("/api/live"));
        EXPECT_THAT(streams.back()->read_until("\r\n\r\n"),
                    StartsWith(i < 2 ? "HTTP/1.1 200 " : "HTTP/1.1 429 "));
    }
}

TEST_F(AdminServing, TheHeadOfTheStreamIsNotTheStream) {
    start();
    HttpClient client = connect();
    client.send("HEAD /api/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(client.read_all(),
                AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("text/event-stream"),
                      testing::EndsWith("\r\n\r\n")));
}

TEST_F(AdminServing, ThePageIsNotWrittenTo) {
    start();
    EXPECT_THAT(post("/", "{}"), AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET")));
}

TEST_F(AdminServing, IdleAndSlowClientsMakeRoomForOthers) {
    start({.limits = {.connections_max = 4}});
    std::vector<std::unique_ptr<HttpClient>> idle;
    for (int i = 0; i < 60; ++i) {
        idle.push_back(std::make_unique<HttpClient>(server_->port()));
        if (i % 3 == 1) idle.back()->send("GET /livez HT");
        if (i % 3 == 2) idle.back()->send(get_text("/livez"));
        EXPECT_THAT(get("/livez"), HasSubstr("ok\n")) << i;
    }
}

TEST_F(AdminServing, AnswersManyThreadsAtOnce) {
    start({.anonymous = AdminRole::admin, .limits = {.connections_max = 6}});
    Outbox(memory_).enqueue({.topic = "a", .payload = "1"});
    std::atomic<int> answered = 0;
    const std::vector<std::string> targets{"/metrics",     "/api/overview", "/api/messages?limit=5",
                                           "/api/topics",  "/api/outbox",   "/api/dead-letters",
                                           "/api/workers", "/health"};
    {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < 4; ++thread)
            threads.emplace_back([&, thread] {
                for (std::size_t i = 0; i < 40; ++i)
                    if (get(targets[(i + static_cast<std::size_t>(thread)) % targets.size()])
                            .starts_with("HTTP/1.1 "))
                        ++answered;
            });
        HttpClient stream = connect();
        stream.send(get_text("/api/live"));
        stream.read_until("event: overview");
    }
    EXPECT_GT(answered, 0);
    EXPECT_THAT(get("/livez"), HasSubstr("ok\n"));
}

// A provider that can be made to fail, or to wait.
class MoodyStores final : public StoreProvider {
public:
    explicit MoodyStores(Store& store) : inner_(store) {}
    std::vector<StorePtr> stores() const override {
        if (failures_left-- > 0) throw std::runtime_error("no list today");
        return left ? std::vector<StorePtr>{} : inner_.stores();
    }
    StorePtr find(std::string_view id) const override {
        if (finding != nullptr) {
            finding->count_down();
            go_on->wait();
        }
        return inner_.find(id);
    }
    Subscription subscribe(std::function<void()>) override { return {}; }

    mutable std::atomic<int> failures_left = 0;
    std::atomic<bool> left = false;  // the store has
    std::latch* finding = nullptr;
    std::latch* go_on = nullptr;

private:
    FixedStores inner_;
};

class AdminServingMoody : public AdminServing {
protected:
    StoreProvider& provider() override { return moody_; }
    MoodyStores moody_{memory_};
};

TEST_F(AdminServingMoody, GoesOnLookingAfterTheProviderHasFailed) {
    moody_.failures_left = 3;
    start();
    EXPECT_TRUE(wait_until([&] { return get("/readyz").starts_with("HTTP/1.1 200 "); }, patience));
    EXPECT_THAT(logged(), HasSubstr("ADMIN_WATCH_FAILED error=\"no list today\""));
}

TEST_F(AdminServingMoody, AStoreThatHasLeftIsForgotten) {
    start();
    const auto is_known = [&] {
        return metrics_.prometheus().find("store=\"main\"") != std::string::npos;
    };
    EXPECT_TRUE(wait_until(is_known, patience));
    moody_.left = true;
    EXPECT_TRUE(wait_until([&] { return !is_known(); }, patience));
}

// Has so many messages that a search for one of them is not over in time.
class EndlessQueue final : public ForwardingStore {
public:
    using ForwardingStore::ForwardingStore;
    FoundPage find_within(Queue, const Query&, Duration) override { return {.next_seq = 17}; }
};

class AdminServingUnfinished : public AdminServing {
protected:
    StoreProvider& provider() override { return endless_stores_; }

private:
    EndlessQueue endless_{memory_};
    FixedStores endless_stores_{endless_};
};

TEST_F(AdminServingUnfinished, TellsWhereTheSearchForAMessageGoesOn) {
    start();
    EXPECT_THAT(
        get("/api/messages/nobodys"),
        AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("down to number 17"), HasSubstr("cursor=17")));
}

TEST_F(AdminServing, AStoreThatWasNeverOpenedIsDown) {
    start({.unopened = [] {
        return std::vector<UnopenedStore>{{.store = "south", .error = "no route to it"}};
    }});
    EXPECT_TRUE(wait_until([&] { return get("/api/stores").find("south") != std::string::npos; },
                           patience));
    EXPECT_THAT(get("/readyz"), StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(get("/readyz?verbose"), HasSubstr("[-] store south: no route to it\n"));
    EXPECT_THAT(get("/health"),
                AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("\"status\":\"unhealthy\"")));
    const auto is_told = HasSubstr(R"("store":"south","up":false,"error":"no route to it")");
    EXPECT_THAT(get("/api/stores"), is_told);
    EXPECT_THAT(get("/api/overview"), is_told);
    EXPECT_THAT(get("/metrics"), HasSubstr("postroom_store_up{store=\"south\"} 0\n"));
    EXPECT_THAT(get("/api/messages?store=south"),
                AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("no route to it")));
}

TEST_F(AdminServing, AStoreThatIsOpenedAtLastIsUp) {
    std::atomic<bool> opened = false;
    start({.unopened = [&opened] {
        std::vector<UnopenedStore> missing;
        if (!opened) missing.push_back({.store = "south", .error = "no route to it"});
        return missing;
    }});
    const auto status = [&] { return get("/readyz").substr(0, 12); };
    EXPECT_TRUE(wait_until([&] { return status() == "HTTP/1.1 503"; }, patience));
    opened = true;
    EXPECT_TRUE(wait_until([&] { return status() == "HTTP/1.1 200"; }, patience));
    // Its figures are forgotten a moment later.
    EXPECT_TRUE(
        wait_until([&] { return get("/metrics").find("south") == std::string::npos; }, patience));
}

TEST_F(AdminServingMoody, ALongAnswerKeepsNoOtherWaiting) {
    std::latch finding(1);
    std::latch go_on(1);
    metrics_.sample(memory_);
    moody_.finding = &finding;
    moody_.go_on = &go_on;
    start();
    HttpClient slow = connect();
    slow.send(get_text("/api/stores", "Connection: close\r\n"));
    finding.wait();
    EXPECT_THAT(get("/livez"), HasSubstr("ok\n"));
    go_on.count_down();
    EXPECT_THAT(slow.read_all(), HasSubstr("\"stores\":[{"));
}

// A store whose lists never end; each is waited for.
class EndlessStore final : public ForwardingStore {
public:
    using ForwardingStore::ForwardingStore;
    std::vector<Message> find(Queue, const Query& query) override {
        if (asked++ == 0) {
            asking.count_down();
            go_on.wait();
        }
        std::vector<Message> out(query.limit);
        for (Message& message : out) message.id = WorkItemId(--seq_, 1);
        return out;
    }
    std::atomic<int> asked = 0;
    std::latch asking{1};
    std::latch go_on{1};

private:
    std::atomic<std::uint64_t> seq_ = 1'000'000'000;
};

class AdminServingEndless : public AdminServing, public testing::WithParamInterface<std::string> {
protected:
    StoreProvider& provider() override { return endless_; }
    EndlessStore store_{memory_};
    FixedStores endless_{store_};
};

TEST_P(AdminServingEndless, StopsAfterTheStatementThatIsUnderWay) {
    start({.anonymous = AdminRole::operate});
    std::jthread client([&] {
        if (GetParam().starts_with('{')) {
            post("/api/operations", GetParam());
        } else {
            get(GetParam());
        }
    });
    store_.asking.wait();
    server_->request_stop();
    store_.go_on.count_down();
    server_->stop();
    EXPECT_EQ(store_.asked, 1);
}

INSTANTIATE_TEST_SUITE_P(
    Lists, AdminServingEndless,
    testing::Values("/api/outbox?page=200", "/api/dead-letters",
                    R"({"action":"redrive","dry_run":true,"filter":{"fingerprint":"0"}})"));

}  // namespace
}  // namespace postroom::test::admin_server_test
