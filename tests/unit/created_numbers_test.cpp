#include "admin/created_numbers.hpp"

#include <gtest/gtest.h>

#include "base/ulid.hpp"

namespace postroom::admin {
namespace {

using namespace std::chrono_literals;

TEST(TimeInMessageId, AUlidTellsIt) {
    EXPECT_EQ(time_in_message_id(base::encode_ulid({.milliseconds = 1'700'000'000'123})),
              Instant{1'700'000'000'123ms});
}

// The examples of RFC 9562, appendix A.
TEST(TimeInMessageId, AUuidOfVersion7And1TellsIt) {
    EXPECT_EQ(time_in_message_id("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"),
              Instant{1'645'557'742'000ms});
    EXPECT_EQ(time_in_message_id("C232AB00-9414-11EC-B3C8-9F6BDECED846"),
              Instant{1'645'557'742'000ms});
}

TEST(TimeInMessageId, NothingElseDoes) {
    for (const char* id :
         {"", "order-17", "919108F7-52D1-4320-9BAC-F847DB4148A8",
          "017F22E2-79B0-7CC3-18C4-DC0C0C07398F", "00000000-0000-1000-8000-000000000000",
          "017F22E2-79B0-7CC3-98C4-DC0C0C07398"})
        EXPECT_FALSE(time_in_message_id(id)) << id;
}

}  // namespace
}  // namespace postroom::admin
