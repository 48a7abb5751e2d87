// What the compiler takes and refuses of the two faces, and what a requested stop does to each of
// their verbs.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <concepts>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "postroom/error.hpp"
#include "postroom/inbox.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"

namespace postroom::faces_test {
namespace {

using namespace std::chrono_literals;

template <class... Arguments>
concept AlreadyProcessed = requires(const Inbox& inbox, Arguments... arguments) {
    inbox.already_processed(arguments...);
};
template <class... Arguments>
concept MarkProcessed = requires(const Inbox& inbox, Arguments... arguments) {
    inbox.mark_processed(arguments...);
};
template <class... Arguments>
concept Enqueue = requires(const Inbox& inbox, Arguments... arguments) {
    inbox.enqueue(arguments...);
};
template <class... Arguments>
concept Ack = requires(const Outbox& outbox, Arguments... arguments) {
    outbox.ack(arguments...);
};
template <class Effect>
concept Once = requires(const Inbox& inbox, TxContext& tx, InboxKey key, Effect effect) {
    inbox.once(tx, key, effect);
};

template <class Key>
concept KeyByPosition = requires {
    Key{std::string{}, std::string{}};
};

TEST(Faces, AnInboxKeyIsGivenByName) {
    static_assert(!KeyByPosition<InboxKey>);
    EXPECT_EQ((InboxKey{.source = "s", .message_id = "m"}),
              (InboxKey{.source = "s", .message_id = "m"}));
    static_assert(sizeof(InboxKey) == 2 * sizeof(std::string));
}

TEST(Faces, TheTransactionComesFirstAndAKeyIsNoPairOfStrings) {
    static_assert(AlreadyProcessed<InboxKey>);
    static_assert(AlreadyProcessed<TxContext&, InboxKey, std::string>);
    static_assert(!AlreadyProcessed<std::string, std::string>);
    static_assert(!AlreadyProcessed<InboxKey, TxContext&>);
    static_assert(MarkProcessed<InboxKey> && MarkProcessed<TxContext&, InboxKey>);
    static_assert(!MarkProcessed<std::string, std::string>);
    static_assert(!MarkProcessed<InboxKey, TxContext*>);
    static_assert(Once<void (*)()>);
    static_assert(!Once<std::string>);
}

TEST(Faces, APointerToATransactionIsNeitherAFlagNorAStopToken) {
    static_assert(Enqueue<TxContext&, ReceivedMessage> && Enqueue<ReceivedMessage, Revive>);
    static_assert(!Enqueue<ReceivedMessage, TxContext*> && !Enqueue<ReceivedMessage, bool>);
    static_assert(Ack<Message> && Ack<Lease> && Ack<std::vector<Message>>);
    static_assert(Ack<std::vector<Lease>> && Ack<TxContext&, Message>);
    static_assert(Ack<TxContext&, std::span<const Message>>);
    static_assert(!Ack<std::vector<Lease>, TxContext*> && !Ack<std::vector<WorkItemId>>);
}

struct StoppedFaces : testing::Test {
    StoppedFaces() {
        outbox.enqueue({.topic = "t", .payload = ""});
        inbox.enqueue({.topic = "t", .source = "s", .message_id = "m", .payload = ""});
        sent = outbox.claim_due(1);
        received = inbox.claim_due(1);
        source.request_stop();
    }

    // That `verb` says that it was stopped.
    static void expect_stopped(const std::function<void()>& verb) {
        try {
            verb();
            ADD_FAILURE() << "went on";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::unavailable);
            EXPECT_NE(std::string(error.what()).find("stopped"), std::string::npos);
        }
    }

    // The verbs that both faces have.
    void expect_stopped_verbs(const WorkQueue& queue, const std::vector<Message>& claimed) {
        const std::stop_token stop = source.get_token();
        const std::array ids{claimed.at(0).id};
        expect_stopped([&] { queue.ack(claimed, stop); });
        expect_stopped([&] { queue.ack(claimed[0], stop); });
        expect_stopped([&] { queue.abandon(claimed, "x", 1s, stop); });
        expect_stopped([&] { queue.fail(claimed, "x", stop); });
        expect_stopped([&] { queue.release(claimed, 1s, stop); });
        expect_stopped([&] { (void)queue.extend(claimed, 1s, stop); });
        expect_stopped([&] { queue.ack(queue.owner(), ids, stop); });
        expect_stopped([&] { queue.abandon(queue.owner(), ids, "x", 1s, stop); });
        expect_stopped([&] { queue.fail(queue.owner(), ids, "x", stop); });
        expect_stopped([&] { queue.get(ids[0], stop); });
        expect_stopped([&] { queue.redrive(ids, stop); });
        expect_stopped([&] { queue.counts(stop); });
        EXPECT_TRUE(queue.claim_due(1, stop).empty());
        EXPECT_EQ(queue.reap_expired(stop), 0U);
        EXPECT_EQ(queue.purge(0s, 10, {}, stop), 0U);
        EXPECT_EQ(queue.get(ids[0])->state, State::in_progress);
    }

    MemoryStore store;
    Outbox outbox{store};
    Inbox inbox{store};
    std::vector<Message> sent;
    std::vector<Message> received;
    std::stop_source source;
};

TEST_F(StoppedFaces, NoVerbOfTheOutboxBegins) {
    const std::stop_token stop = source.get_token();
    expect_stopped_verbs(outbox, sent);
    expect_stopped([&] { outbox.enqueue({.topic = "t", .payload = ""}, stop); });
    expect_stopped([&] { outbox.mark_dispatched(sent[0].id, stop); });
    expect_stopped([&] { outbox.reschedule(sent[0].id, 1s, "x", stop); });
    expect_stopped([&] { outbox.fail(sent[0].id, "x", stop); });
    EXPECT_EQ(outbox.counts().ready, 0U);
    EXPECT_EQ(outbox.counts().in_progress, 1U);
}

TEST_F(StoppedFaces, NoVerbOfTheInboxBegins) {
    const std::stop_token stop = source.get_token();
    const InboxKey key{.source = "s", .message_id = "m"};
    const std::array message_ids{std::string("m")};
    expect_stopped_verbs(inbox, received);
    expect_stopped([&] { (void)inbox.already_processed(key, {}, stop); });
    expect_stopped([&] { inbox.mark_processing(key, stop); });
    expect_stopped([&] { inbox.mark_processed(key, stop); });
    expect_stopped([&] { inbox.mark_dead(key, "x", stop); });
    expect_stopped([&] {
        inbox.enqueue({.topic = "t", .source = "s", .message_id = "n", .payload = ""}, Revive::no,
                      stop);
    });
    expect_stopped([&] { inbox.ack(inbox.owner(), message_ids, stop); });
    expect_stopped([&] { inbox.abandon(inbox.owner(), message_ids, "x", 1s, stop); });
    expect_stopped([&] { inbox.fail(inbox.owner(), message_ids, "x", stop); });
    expect_stopped([&] { inbox.get(key, stop); });
    expect_stopped([&] { inbox.get(MessageId("m"), stop); });
    EXPECT_EQ(inbox.get(key)->state, State::in_progress);
    EXPECT_FALSE(inbox.get(InboxKey{.source = "s", .message_id = "n"}).has_value());
}

}  // namespace
}  // namespace postroom::faces_test
