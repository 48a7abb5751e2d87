#include "postroom/idempotency.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace postroom::idempotency_test {
namespace {

struct KeyCase {
    std::vector<std::string_view> parts;
    std::string_view expected;
};

// The vectors were computed by another implementation (Python's hashlib) from the recipe in the
// header.
TEST(DeterministicKey, MatchesFixedVectors) {
    for (const KeyCase& c : {
             KeyCase{{"acme", "order", "17", "placed", "0"},
                     "a199146e-d04f-58b6-f018-4eae9120926b"},
             KeyCase{{"acme", "order", "17", "placed", "3"},
                     "b3a50f67-aa44-5448-d517-f36ae6df98b5"},
             KeyCase{{"a:b"}, "6ac3b933-5f2e-d395-b028-8dbe2c62af42"},
             KeyCase{{"a", "b"}, "6783a31e-abf6-8ccc-0660-f935c0826282"},
             KeyCase{{"a", ""}, "bfc622d4-a6d4-10f2-6be3-d72dd4f04e47"},
             KeyCase{{""}, "e3b0c442-98fc-1c14-9afb-f4c8996fb924"},
             KeyCase{{"a\\", "b"}, "10507e55-d254-5a55-f985-4066179ffe37"},
             KeyCase{{"a\\:b"}, "59543115-c98b-4463-8a1b-583e15841e2d"},
             KeyCase{{"Z\xC3\xBCrich", "\xC3\x84\xC3\x96"}, "47b6ea18-ea81-37a4-792c-ab3c68cf43b4"},
         })
        EXPECT_EQ(deterministic_key(c.parts).to_string(), c.expected);
}

TEST(DeterministicKey, FivePartsAreTheListWithVersionZeroByDefault) {
    const Uuid key = deterministic_key("acme", "order", "17", "placed");
    EXPECT_EQ(key, deterministic_key("acme", "order", "17", "placed", "0"));
    EXPECT_EQ(key, deterministic_key({"acme", "order", "17", "placed", "0"}));
    EXPECT_EQ(key.to_string(), "a199146e-d04f-58b6-f018-4eae9120926b");
}

TEST(DeterministicKey, DeterministicKey_SameInput_SameGuid) {
    EXPECT_EQ(deterministic_key("ACME", "Order", "17", "Placed"),
              deterministic_key("acme", "order", "17", "placed"));
}

TEST(DeterministicKey, DeterministicKey_DifferentInput_DifferentGuid) {
    const Uuid key = deterministic_key("t", "c", "e", "k", "1");
    EXPECT_NE(key, deterministic_key("u", "c", "e", "k", "1"));
    EXPECT_NE(key, deterministic_key("t", "d", "e", "k", "1"));
    EXPECT_NE(key, deterministic_key("t", "c", "f", "k", "1"));
    EXPECT_NE(key, deterministic_key("t", "c", "e", "l", "1"));
    EXPECT_NE(key, deterministic_key("t", "c", "e", "k", "2"));
}

TEST(DeterministicKey, OnlyAsciiIsFolded) {
    EXPECT_NE(deterministic_key({"\xC3\x84"}), deterministic_key({"\xC3\xA4"}));
    EXPECT_NE(deterministic_key({"["}), deterministic_key({"{"}));
    EXPECT_NE(deterministic_key({"@"}), deterministic_key({"`"}));
}

TEST(DeterministicKey, RefusesAnEmptyList) {
    EXPECT_THROW(deterministic_key(std::span<const std::string_view>{}), std::invalid_argument);
}

// What `new Guid(byte[])` of .NET prints for the bytes of `key`.
std::string dotnet_text(Uuid key) {
    std::reverse(key.bytes.begin(), key.bytes.begin() + 4);
    std::swap(key.bytes[4], key.bytes[5]);
    std::swap(key.bytes[6], key.bytes[7]);
    return key.to_string();
}

TEST(DeterministicKey, DotnetPrintsTheFirstThreeGroupsSwapped) {
    EXPECT_EQ(dotnet_text(deterministic_key("acme", "order", "17", "placed")),
              "6e1499a1-4fd0-b658-f018-4eae9120926b");
    EXPECT_EQ(dotnet_text(Uuid::parse("00112233-4455-6677-8899-aabbccddeeff").value()),
              "33221100-5544-7766-8899-aabbccddeeff");
}

using Parts = std::vector<std::string>;

// Few characters, so that separators and escapes meet in every way; lower case, as case is folded.
Parts tricky_parts() {
    return *rc::gen::nonEmpty(rc::gen::container<Parts>(
        rc::gen::container<std::string>(rc::gen::element('a', 'b', ':', '\\'))));
}

Uuid key_of(const Parts& parts) {
    return deterministic_key(std::vector<std::string_view>(parts.begin(), parts.end()));
}

RC_GTEST_PROP(DeterministicKeyProperty, DifferentPartListsNeverMeet, ()) {
    const Parts a = tricky_parts();
    const Parts b = tricky_parts();
    RC_ASSERT((key_of(a) == key_of(b)) == (a == b));
}

RC_GTEST_PROP(DeterministicKeyProperty, SplittingAPartAnywhereMakesAnotherKey, ()) {
    const Parts whole = tricky_parts();
    const auto which = *rc::gen::inRange<std::size_t>(0, whole.size());
    const auto where = *rc::gen::inRange<std::size_t>(0, whole[which].size() + 1);
    Parts split = whole;
    split[which] = whole[which].substr(0, where);
    split.insert(split.begin() + static_cast<std::ptrdiff_t>(which) + 1,
                 whole[which].substr(where));
    RC_ASSERT(key_of(split) != key_of(whole));
}

TEST(NameBasedKey, IsVersionFive) {
    const Uuid dns = Uuid::parse("6ba7b810-9dad-11d1-80b4-00c04fd430c8").value();
    EXPECT_EQ(name_based_key(dns, "www.example.com").to_string(),
              "2ed6657d-e927-568b-95e1-2665a8aea6a2");
    EXPECT_NE(name_based_key(dns, "www.example.com"), name_based_key(dns, "www.Example.com"));
}

}  // namespace
}  // namespace postroom::idempotency_test
