#include "base/identifier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace postroom::base::identifier_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string refusal_of(std::string_view value) {
    try {
        const Identifier identifier("schema", value);
        return "accepted: " + identifier.str();
    } catch (const std::invalid_argument& refusal) {
        return refusal.what();
    }
}

TEST(Identifier, AcceptsNamesOfTheAllowList) {
    for (const std::string& name : {std::string("infra"), std::string("_"), std::string("Outbox_2"),
                                    std::string(identifier_length_max, 'x')})
        EXPECT_EQ(Identifier("schema", name).str(), name);
}

TEST(Identifier, RefusesEverythingElse) {
    for (const std::string& name :
         {std::string(), std::string("2nd"), std::string("a-b"), std::string("a b"),
          std::string("a.b"), std::string("a\"b"), std::string("a;DROP TABLE x"),
          std::string("a\0b", 3), std::string("\xC3\xBC"), std::string("a$"), std::string("a'"),
          std::string("a`"), std::string("a["), std::string(identifier_length_max + 1, 'x')})
        EXPECT_THROW(Identifier("schema", name), std::invalid_argument) << name;
}

TEST(Identifier, RefusalNamesFieldValueAndRule) {
    EXPECT_THAT(refusal_of("a-b"), AllOf(HasSubstr("schema"), HasSubstr("\"a-b\""),
                                         HasSubstr("1 to 48"), HasSubstr("underscores")));
}

TEST(Identifier, RefusalEscapesAndCutsTheValue) {
    EXPECT_THAT(refusal_of(std::string_view("a\n\"\0\\\xFF", 6)),
                HasSubstr("\"a\\x0a\\x22\\x00\\x5c\\xff\""));
    const std::string refusal = refusal_of(std::string(100'000, 'y'));
    EXPECT_THAT(refusal, HasSubstr(std::string(identifier_length_max, 'y') + "...\""));
    EXPECT_LT(refusal.size(), 300u);
}

TEST(Identifier, ComparesByteByByte) {
    EXPECT_EQ(Identifier("a", "infra"), Identifier("b", "infra"));
    EXPECT_NE(Identifier("a", "infra"), Identifier("a", "Infra"));
    EXPECT_LT(Identifier("a", "Infra"), Identifier("a", "infra"));
}

}  // namespace
}  // namespace postroom::base::identifier_test
