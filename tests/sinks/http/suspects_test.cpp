// A message that its destination chokes on, and a destination that is down.
#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "postroom/dispatcher.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "queue/suspects.hpp"
#include "sinks/http/http_server.hpp"
#include "sinks/messages.hpp"
#include "support/temp_dir.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Suspects::Time start{};

TEST(Suspects, TheFirstTimeIsAnOutage) {
    Suspects suspects(20);
    suspects.answered("other", start);
    EXPECT_EQ(suspects.unanswered("m", start + 1s).blame, Blame::destination);
}

TEST(Suspects, WhoeverWasAnsweredInBetweenShowsThatItIsTheMessage) {
    Suspects suspects(20);
    suspects.unanswered("m", start + 1s);
    suspects.answered("other", start + 2s);
    EXPECT_EQ(suspects.unanswered("m", start + 3s).blame, Blame::message);
    EXPECT_EQ(suspects.unanswered("m", start + 4s).blame, Blame::unclear)
        << "the destination may have gone down since";
}

TEST(Suspects, AnAnswerToWhatWasSentEarlierShowsNothing) {
    Suspects suspects(20);
    suspects.unanswered("m", start + 2s);
    suspects.answered("other", start + 1s);
    EXPECT_EQ(suspects.unanswered("m", start + 3s).blame, Blame::unclear);
}

TEST(Suspects, AnAnswerMakesTheMessageAsNew) {
    Suspects suspects(20);
    suspects.unanswered("m", start + 1s);
    suspects.answered("m", start + 2s);
    EXPECT_EQ(suspects.unanswered("m", start + 3s).blame, Blame::destination);
}

TEST(Suspects, AloneItStepsAsideLongerAndLongerAndIsToBlameInTheEnd) {
    Suspects suspects(4);
    suspects.unanswered("m", start + 1s);
    for (const Duration pause : {2s, 4s, 8s}) {
        const Suspects::Finding finding = suspects.unanswered("m", start + 2s);
        EXPECT_EQ(finding.blame, Blame::unclear);
        EXPECT_EQ(finding.pause, pause);
    }
    EXPECT_EQ(suspects.unanswered("m", start + 3s).blame, Blame::message);
}

TEST(Suspects, WhileOthersRemainUnansweredTooItIsTheDestination) {
    Suspects suspects(2);
    for (int round = 0; round < 20; ++round) {
        const Suspects::Time now = start + std::chrono::seconds(round);
        for (const char* id : {"a", "b", "c"})
            EXPECT_EQ(suspects.unanswered(id, now).blame, Blame::destination) << id << round;
    }
    // Only from then on nobody is beside it.
    EXPECT_EQ(suspects.unanswered("a", start + 1h).blame, Blame::destination);
    EXPECT_EQ(suspects.unanswered("a", start + 2h).blame, Blame::unclear);
    EXPECT_EQ(suspects.unanswered("a", start + 3h).blame, Blame::message);
}

TEST(Suspects, TellsWhoRemainedUnanswered) {
    Suspects suspects(20);
    EXPECT_EQ(suspects.last_unanswered("m"), std::nullopt);
    suspects.unanswered("m", start + 1s);
    EXPECT_EQ(suspects.last_unanswered("m"), start + 1s);
    suspects.answered("m", start + 2s);
    EXPECT_EQ(suspects.last_unanswered("m"), std::nullopt);
}

TEST(Suspects, ThePauseHasALimit) {
    Suspects suspects(1'000);
    Suspects::Finding finding;
    for (int i = 0; i < 200; ++i) finding = suspects.unanswered("m", start + 1s);
    EXPECT_EQ(finding.pause, Duration(64s));
}

TEST(Suspects, TheOldestIsForgottenWhenThereAreTooMany) {
    Suspects suspects(20);
    for (std::size_t i = 0; i <= Suspects::remembered_max; ++i)
        suspects.unanswered(std::to_string(i), start + std::chrono::seconds(i));
    EXPECT_EQ(suspects.last_unanswered("0"), std::nullopt);
    EXPECT_EQ(suspects.last_unanswered("1"), start + 1s);
}

std::unique_ptr<Sink> sink_to(const HttpServer& server,
                              std::map<std::string, std::string> settings = {}) {
    settings["url"] = server.url();
    settings["allow_networks"] = "127.0.0.1";
    return make_sink({.name = "hook", .type = "http", .settings = std::move(settings)});
}

// A gateway in front of a destination that is down answers everybody so: that is no message's
// fault.
TEST(HttpSinkSuspects, AnOutageBehindAGatewayCostsNoAttempt) {
    std::atomic<int> status = 502;
    HttpServer server([&](const HttpRequest&) { return HttpAnswer{.status = status}; });
    const auto sink = sink_to(server, {{"unanswered_max", "2"}});
    for (int round = 0; round < 20; ++round) {
        for (const Verdict& verdict :
             send_all(*sink, {message_with("a"), message_with("b"), message_with("c")}))
            EXPECT_EQ(verdict.outcome, Outcome::release) << round;
    }
    // Whatever comes together, and in whatever order.
    for (const char* id : {"c", "a", "b", "a", "c", "b", "a", "b", "c"})
        EXPECT_EQ(send_one(*sink, message_with(id)).outcome, Outcome::release) << id;
    status = 204;
    EXPECT_EQ(send_one(*sink, message_with("a")).outcome, Outcome::ack);
}

TEST(HttpSinkSuspects, WhoeverIsUnansweredAmongOthersThatAreServedIsNoOutage) {
    for (const HttpAnswer& answer : {HttpAnswer{.status = 502}, HttpAnswer{.hang_up = true}}) {
        HttpServer server([&](const HttpRequest& request) {
            return request.header("ce-id") == "poison" ? answer : HttpAnswer{};
        });
        const auto sink = sink_to(server, {{"concurrency", "1"}});
        const std::vector<Verdict> verdicts =
            send_all(*sink, {message_with("poison"), message_with("a"), message_with("b")});
        EXPECT_EQ(verdicts[0].outcome, Outcome::release) << "the first time costs no attempt";
        EXPECT_FALSE(verdicts[0].destination_down);
        EXPECT_EQ(verdicts[0].delay, Duration(2s));
        EXPECT_EQ(verdicts[1].outcome, Outcome::ack);
        EXPECT_EQ(verdicts[2].outcome, Outcome::ack);
    }
}

TEST(HttpSinkSuspects, WhoeverIsServedBeforeTheConnectionBreaksSaysNothing) {
    HttpServer server([](const HttpRequest& request) {
        return HttpAnswer{.hang_up = request.header("ce-id") != "a"};
    });
    const auto sink = sink_to(server, {{"concurrency", "1"}});
    const std::vector<Verdict> verdicts = send_all(*sink, {message_with("a"), message_with("b")});
    EXPECT_EQ(verdicts[0].outcome, Outcome::ack);
    EXPECT_TRUE(verdicts[1].destination_down) << "it may have died since";
}

// Goal: neighbours of a message that takes the destination down do not pay for it.
// Method: the receiver breaks every connection that is open together with that of the poison.
TEST(HttpSinkSuspects, SuspectsGoLastAndOneAtATime) {
    std::mutex mutex;
    std::vector<std::string> order;
    std::set<std::string> under_way;
    bool together = false;
    std::atomic<bool> up = false;
    HttpServer server([&](const HttpRequest& request) {
        if (!up) return HttpAnswer{.hang_up = true};
        const std::string id = request.header("ce-id");
        {
            const std::lock_guard lock(mutex);
            order.push_back(id);
            under_way.insert(id);
            if (under_way.size() > 1 && (under_way.contains("s1") || under_way.contains("s2")))
                together = true;
        }
        std::this_thread::sleep_for(30ms);
        const std::lock_guard lock(mutex);
        under_way.erase(id);
        return HttpAnswer{};
    });
    const auto sink = sink_to(server);
    send_all(*sink, {message_with("s1"), message_with("s2")});
    up = true;
    const std::vector<Verdict> verdicts =
        send_all(*sink, {message_with("s1"), message_with("a"), message_with("s2"),
                         message_with("b"), message_with("c")});
    for (const Verdict& verdict : verdicts) EXPECT_EQ(verdict.outcome, Outcome::ack);
    ASSERT_THAT(order, testing::SizeIs(5));
    EXPECT_THAT(std::vector(order.begin(), order.begin() + 3),
                testing::UnorderedElementsAre("a", "b", "c"));
    EXPECT_FALSE(together);
}

TEST(HttpSinkSuspects, WhileItIsDownOneSuspectIsTriedAndTheOthersAreNot) {
    std::atomic<int> requests = 0;
    HttpServer server([&](const HttpRequest&) {
        ++requests;
        return HttpAnswer{.status = 502};
    });
    const auto sink = sink_to(server);
    const std::vector<Message> messages{message_with("a"), message_with("b"), message_with("c")};
    send_all(*sink, messages);
    EXPECT_EQ(requests, 3);
    for (const Verdict& verdict : send_all(*sink, messages)) EXPECT_TRUE(verdict.destination_down);
    EXPECT_EQ(requests, 4);
}

TEST(HttpSinkSuspects, AMessageThatBreaksItsConnectionAgainCostsAttemptsOfItsOwn) {
    HttpServer server([](const HttpRequest& request) {
        return HttpAnswer{.hang_up = request.header("ce-id") == "poison"};
    });
    const auto sink = sink_to(server);
    EXPECT_TRUE(send_one(*sink, message_with("poison")).destination_down);
    const std::vector<Verdict> verdicts =
        send_all(*sink, {message_with("poison"), message_with("good")});
    EXPECT_EQ(verdicts[0].outcome, Outcome::abandon);
    EXPECT_FALSE(verdicts[0].destination_down);
    EXPECT_THAT(verdicts[0].error, HasSubstr("connection broke"));
    EXPECT_EQ(verdicts[1].outcome, Outcome::ack);
}

// Goal: a poison message ends dead, with its reason, and holds up nobody.
// Method: it breaks its connection every time; messages around it are delivered meanwhile.
TEST(HttpSinkSuspects, APoisonMessageEndsDeadAmongOthersThatArrive) {
    TempDir folder;
    const std::unique_ptr<Store> store =
        open_store("sqlite:" + (folder / "poison.db").string(), {.deploy_schema = true});
    const Outbox outbox(*store);
    std::atomic<int> taken = 0;
    HttpServer server([&](const HttpRequest& request) {
        if (request.body == "poison") return HttpAnswer{.hang_up = true};
        ++taken;
        return HttpAnswer{};
    });
    Dispatcher dispatcher(*store, {.retry = {.base = 20ms, .factor = 1, .max_attempts = 3},
                                   .circuit_open_for = 20ms,
                                   .circuit_open_for_max = 100ms,
                                   .poll_interval_max = 20ms});
    dispatcher.routes().on_batch("t", 10, handler_of(sink_to(server)));
    const WorkItemId poison = outbox.enqueue({.topic = "t", .payload = "poison"}).id;
    dispatcher.start();
    int sent = 0;
    const auto is_dead = [&] {
        outbox.enqueue({.topic = "t", .payload = std::to_string(++sent)});
        return outbox.counts().dead == 1;
    };
    EXPECT_TRUE(wait_until(is_dead, 60s, 20ms));
    EXPECT_TRUE(wait_until([&] { return taken >= sent; }, 60s));
    dispatcher.close();
    EXPECT_EQ(outbox.counts().dead, 1u);
    const auto found = outbox.get(poison);
    ASSERT_TRUE(found);
    EXPECT_THAT(found->last_error, HasSubstr("connection broke"));
    EXPECT_EQ(found->retry_count, 3u);
}

}  // namespace
}  // namespace postroom::test
