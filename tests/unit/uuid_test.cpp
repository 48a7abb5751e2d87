#include "base/uuid.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

#include "base/random.hpp"

namespace postroom::base::uuid_test {
namespace {

Uuid uuid(std::string_view text) { return Uuid::parse(text).value(); }

unsigned version_of(const Uuid& id) { return id.bytes[6] >> 4; }
unsigned variant_of(const Uuid& id) { return id.bytes[8] >> 6; }

TEST(Uuid, PrintsBytesInOrderInLowerCase) {
    Uuid id;
    for (std::size_t i = 0; i < id.bytes.size(); ++i)
        id.bytes[i] = static_cast<std::uint8_t>(0x11 * i);
    EXPECT_EQ(id.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
    EXPECT_EQ(Uuid{}.to_string(), "00000000-0000-0000-0000-000000000000");
}

TEST(Uuid, ParsesEitherCase) {
    const Uuid lower = uuid("00112233-4455-6677-8899-aabbccddeeff");
    EXPECT_EQ(lower.bytes[0], 0x00);
    EXPECT_EQ(lower.bytes[5], 0x55);
    EXPECT_EQ(lower.bytes[15], 0xFF);
    EXPECT_EQ(lower, uuid("00112233-4455-6677-8899-AABBCCDDEEFF"));
}

TEST(Uuid, RefusesEveryOtherForm) {
    for (const std::string_view text : {
             "",
             "00112233445566778899aabbccddeeff",
             "{00112233-4455-6677-8899-aabbccddeeff}",
             "00112233-4455-6677-8899-aabbccddeef",
             "00112233-4455-6677-8899-aabbccddeeff0",
             "00112233-4455-6677-8899-aabbccddeefg",
             "0011223-34455-6677-8899-aabbccddeeff",
             "00112233-4455-6677-8899_aabbccddeeff",
             " 0112233-4455-6677-8899-aabbccddeeff",
             "-0112233-4455-6677-8899-aabbccddeeff",
         })
        EXPECT_EQ(Uuid::parse(text), std::nullopt) << text;
    EXPECT_EQ(Uuid::parse(std::string_view("00112233-4455-6677-8899-aabbccddee\0f", 36)),
              std::nullopt);
}

RC_GTEST_PROP(UuidProperty, TextRoundTrips, ()) {
    Uuid id;
    for (std::uint8_t& byte : id.bytes) byte = *rc::gen::arbitrary<std::uint8_t>();
    RC_ASSERT(Uuid::parse(id.to_string()) == id);
}

TEST(UuidV4, CarriesVersionAndVariantAndDiffers) {
    SeededRandom random(7);
    std::set<Uuid> seen;
    for (int i = 0; i < 1000; ++i) {
        const Uuid id = uuid_v4(random);
        EXPECT_EQ(version_of(id), 4u);
        EXPECT_EQ(variant_of(id), 2u);
        EXPECT_TRUE(seen.insert(id).second);
    }
}

struct NameCase {
    std::string_view name_space;
    std::string_view name;
    std::string_view expected;
};

TEST(UuidV5, MatchesKnownVectors) {
    const std::string_view dns = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    const std::string_view url = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
    const std::string_view oid = "6ba7b812-9dad-11d1-80b4-00c04fd430c8";
    for (const NameCase& c : {
             NameCase{dns, "www.example.com", "2ed6657d-e927-568b-95e1-2665a8aea6a2"},  // RFC 9562
             NameCase{dns, "python.org", "886313e1-3b8a-5372-9b90-0c9aee199e5d"},
             NameCase{url, "", "1b4db7eb-4057-5ddf-91e0-36dec72071f5"},
             NameCase{oid, "Z\xC3\xBCrich", "02f81aeb-0e64-5498-b2f6-81175c2236ef"},
         })
        EXPECT_EQ(uuid_v5(uuid(c.name_space), c.name).to_string(), c.expected) << c.name;
}

struct PackCase {
    std::uint64_t seq;
    std::uint64_t nonce;
    std::string_view expected;
};

TEST(WorkItemUuid, LaysOutSeqVersionVariantAndNonce) {
    for (const PackCase& c : {
             PackCase{0, 0, "00000000-0000-8000-8000-000000000000"},
             PackCase{1, 1, "00000000-0000-8004-8000-000000000001"},
             PackCase{1, ~std::uint64_t{0}, "00000000-0000-8007-bfff-ffffffffffff"},
             PackCase{1024, 0, "00000000-0001-8000-8000-000000000000"},
             PackCase{0x123456789ABCDE, 0xFEDCBA9876543210, "048d159e-26af-837b-bedc-ba9876543210"},
             PackCase{work_item_seq_max, 0, "ffffffff-ffff-8ffc-8000-000000000000"},
             PackCase{work_item_seq_max, ~std::uint64_t{0}, "ffffffff-ffff-8fff-bfff-ffffffffffff"},
         }) {
        const Uuid id = pack_work_item(c.seq, c.nonce);
        EXPECT_EQ(id.to_string(), c.expected);
        EXPECT_EQ(unpack_work_item(id), (WorkItemParts{c.seq, c.nonce}));
    }
}

TEST(WorkItemUuid, RefusesASeqOfMoreThan58Bits) {
    EXPECT_THROW(pack_work_item(work_item_seq_max + 1, 0), std::out_of_range);
    EXPECT_THROW(pack_work_item(~std::uint64_t{0}, 0), std::out_of_range);
}

TEST(WorkItemUuid, UnpacksNoOtherVersionOrVariant) {
    SeededRandom random(1);
    EXPECT_EQ(unpack_work_item(uuid_v4(random)), std::nullopt);
    EXPECT_EQ(unpack_work_item(Uuid{}), std::nullopt);
    EXPECT_EQ(unpack_work_item(uuid("00000000-0000-8004-c000-000000000001")), std::nullopt);
    EXPECT_EQ(unpack_work_item(uuid("00000000-0000-7004-8000-000000000001")), std::nullopt);
}

RC_GTEST_PROP(WorkItemUuidProperty, RoundTripsAndSortsBySeq,
              (std::uint64_t any_a, std::uint64_t any_b, std::uint64_t nonce_a,
               std::uint64_t nonce_b)) {
    const unsigned shift = *rc::gen::inRange(6u, 63u);
    const std::uint64_t a = any_a >> shift;
    const std::uint64_t b = any_b >> shift;
    const Uuid id_a = pack_work_item(a, nonce_a);
    RC_ASSERT(unpack_work_item(id_a) == (WorkItemParts{a, nonce_a}));
    if (a < b) RC_ASSERT(id_a < pack_work_item(b, nonce_b));
}

}  // namespace
}  // namespace postroom::base::uuid_test
