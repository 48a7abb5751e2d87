#include "postroom/message.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <type_traits>

namespace shop {

enum class UserTopic { created, deleted };
constexpr std::string_view to_name(UserTopic topic) {
    return topic == UserTopic::created ? "user.created" : "user.deleted";
}

enum class Aggregate { user, order };
constexpr std::string_view to_name(Aggregate aggregate) {
    return aggregate == Aggregate::user ? "USER" : "ORDER";
}

enum class Nameless { one };

}  // namespace shop

namespace postroom::topic_test {
namespace {

std::string taken_as_argument(const TopicName& topic) { return topic.str(); }

struct Envelope {
    TopicName topic;
    AggregateType aggregate_type;
};

TEST(TopicName, S001_7_2_ComesFromAnEnum) {
    EXPECT_EQ(taken_as_argument(shop::UserTopic::created), "user.created");
    const Envelope envelope{.topic = shop::UserTopic::deleted, .aggregate_type = {}};
    EXPECT_EQ(envelope.topic.str(), "user.deleted");
}

TEST(TopicName, S001_7_3_ComesFromAnyText) {
    const std::string text = "dynamic";
    EXPECT_EQ(taken_as_argument("dynamic"), text);
    EXPECT_EQ(taken_as_argument(text), text);
    EXPECT_EQ(taken_as_argument(std::string("dynamic")), text);
    EXPECT_EQ(taken_as_argument(std::string_view("dynamic")), text);
    const char* pointer = "dynamic";
    EXPECT_EQ(taken_as_argument(pointer), text);
    EXPECT_EQ(TopicName(std::string_view("a\0b", 3)).view(), std::string_view("a\0b", 3));
}

TEST(TopicName, IsEmptyByDefault) {
    EXPECT_TRUE(TopicName().empty());
    EXPECT_FALSE(TopicName("x").empty());
}

TEST(TopicName, CopiesMovesAndGivesItsTextAway) {
    const TopicName original("a topic that is too long for a small buffer");
    TopicName copy = original;
    EXPECT_EQ(copy, original);
    const TopicName moved = std::move(copy);
    EXPECT_EQ(moved, original);
    EXPECT_EQ(TopicName(original).str(), original.view());
}

TEST(TopicName, ComparesByteByByteWithTextsAndEnums) {
    const TopicName topic("user.created");
    EXPECT_TRUE(topic == "user.created");
    EXPECT_TRUE("user.created" == topic);
    EXPECT_TRUE(topic == std::string("user.created"));
    EXPECT_TRUE(topic == std::string_view("user.created"));
    EXPECT_TRUE(topic == shop::UserTopic::created);
    EXPECT_TRUE(topic != "User.created");
    EXPECT_TRUE(topic < TopicName("user.deleted"));
    EXPECT_TRUE(TopicName("User") < TopicName("user"));
}

TEST(TopicName, IsAKeyOfAMap) {
    std::map<TopicName, int> handlers{{shop::UserTopic::created, 1}, {"other", 2}};
    EXPECT_EQ(handlers.at("user.created"), 1);
    EXPECT_EQ(handlers.at("other"), 2);
}

TEST(AggregateType, S001_7_4_IsGlobalByDefault) {
    EXPECT_EQ(AggregateType::global().str(), "__GLOBAL__");
    EXPECT_EQ(AggregateType(), AggregateType::global());
    EXPECT_EQ(Envelope{}.aggregate_type, AggregateType::global());
}

TEST(AggregateType, S001_7_5_ComesFromAnEnumOrText) {
    EXPECT_EQ(AggregateType(shop::Aggregate::user).str(), "USER");
    EXPECT_EQ(AggregateType("CustomAggregate").str(), "CustomAggregate");
}

// Checked by the compiler; a name that could stand for another kind of name would not build.
static_assert(std::is_convertible_v<shop::UserTopic, TopicName>);
static_assert(std::is_convertible_v<const char*, TopicName>);
static_assert(!std::is_convertible_v<shop::Nameless, TopicName>);
static_assert(!std::is_constructible_v<TopicName, int>);
static_assert(!std::is_constructible_v<TopicName, std::nullptr_t>);
static_assert(!std::is_constructible_v<TopicName, AggregateType>);
static_assert(!std::is_constructible_v<AggregateType, TopicName>);
static_assert(std::is_nothrow_move_constructible_v<TopicName>);

// clang 14 cannot evaluate the std::string of libstdc++ 12 at compile time.
#if __cpp_lib_constexpr_string >= 201907L && !defined(__clang__)
static_assert(TopicName(shop::UserTopic::created) == TopicName("user.created"));
static_assert(AggregateType::global() == AggregateType("__GLOBAL__"));
#endif

}  // namespace
}  // namespace postroom::topic_test
