#include <gmock/gmock.h>

#include "queue/key_order.hpp"
#include "queue/partial_outage.hpp"
#include "sinks/messages.hpp"

namespace postroom::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> ids_of(Wave wave) {
    std::vector<std::string> ids;
    for (const Message* message : wave) ids.push_back(message->message_id.str());
    return ids;
}

TEST(KeyOrder, MessagesWithoutAKeyGoTogether) {
    const std::vector<Message> messages{message_with("a"), keyed_message("b", "k"),
                                        message_with("c"), keyed_message("d", "l")};
    std::vector<std::vector<std::string>> waves;
    send_in_key_order(messages, [&](Wave wave) {
        waves.push_back(ids_of(wave));
        return std::vector<Verdict>(wave.size());
    });
    EXPECT_THAT(waves, ElementsAre(ElementsAre("a", "b", "c", "d")));
}

TEST(KeyOrder, MessagesOfOneKeyGoOneAfterTheOther) {
    const std::vector<Message> messages{keyed_message("a", "k"), keyed_message("b", "k"),
                                        message_with("c"), keyed_message("d", "k")};
    std::vector<std::vector<std::string>> waves;
    send_in_key_order(messages, [&](Wave wave) {
        waves.push_back(ids_of(wave));
        return std::vector<Verdict>(wave.size());
    });
    EXPECT_THAT(waves, ElementsAre(ElementsAre("a", "c"), ElementsAre("b"), ElementsAre("d")));
}

TEST(KeyOrder, NothingOvertakesAMessageThatFailed) {
    const std::vector<Message> messages{keyed_message("a", "k"), keyed_message("b", "k"),
                                        keyed_message("c", "l"), keyed_message("d", "l")};
    std::vector<std::string> sent;
    const std::vector<Verdict> verdicts = send_in_key_order(messages, [&](Wave wave) {
        std::vector<Verdict> wave_verdicts;
        for (const std::string& id : ids_of(wave)) {
            sent.push_back(id);
            wave_verdicts.push_back(id == "a" ? Verdict::retry("no") : Verdict::done());
        }
        return wave_verdicts;
    });
    EXPECT_THAT(sent, ElementsAre("a", "c", "d"));
    EXPECT_EQ(verdicts[0].outcome, Outcome::abandon);
    EXPECT_EQ(verdicts[1].outcome, Outcome::release);
    EXPECT_EQ(verdicts[2].outcome, Outcome::ack);
    EXPECT_EQ(verdicts[3].outcome, Outcome::ack);
}

TEST(PartialOutage, OnlyADestinationThatHasTakenOthersIsSpared) {
    std::vector<Verdict> verdicts{Verdict::down("full"), Verdict::retry("no")};
    spare_a_living_destination(verdicts);
    EXPECT_TRUE(verdicts[0].destination_down);
    verdicts.push_back(Verdict::done());
    spare_a_living_destination(verdicts);
    EXPECT_FALSE(verdicts[0].destination_down);
    EXPECT_EQ(verdicts[0].outcome, Outcome::release);
    EXPECT_EQ(verdicts[0].error, "full");
    EXPECT_EQ(verdicts[0].delay, partial_outage_pause);
    EXPECT_EQ(verdicts[1].outcome, Outcome::abandon);
    EXPECT_EQ(verdicts[1].delay, std::nullopt);
}

TEST(KeyOrder, AnEmptyBatchSendsNothing) {
    const auto never = [](Wave) -> std::vector<Verdict> { throw std::logic_error("called"); };
    EXPECT_THAT(send_in_key_order({}, never), IsEmpty());
}

}  // namespace
}  // namespace postroom::test
