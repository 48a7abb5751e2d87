#include "postroom/retry_policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.hpp"

namespace postroom::retry_policy_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

// Always the same number: 0 draws the lower end of the jitter, all ones the upper end.
class ConstantRandom final : public Random {
public:
    explicit ConstantRandom(std::uint64_t number) : number_(number) {}
    std::uint64_t next() override {
        ++drawn;
        return number_;
    }
    int drawn = 0;

private:
    std::uint64_t number_;
};

constexpr std::uint64_t lowest = 0;
constexpr std::uint64_t middle = std::uint64_t{1} << 63;
constexpr std::uint64_t highest = ~std::uint64_t{0};

std::vector<Duration> delays(const RetryPolicy& policy, std::uint64_t number, std::uint32_t count) {
    ConstantRandom random(number);
    std::vector<Duration> result;
    for (std::uint32_t n = 1; n <= count; ++n) result.push_back(policy.delay(n, random));
    return result;
}

using Delays = std::vector<Duration>;

TEST(RetryPolicy, StandardIsTwoToTheNSecondsUpToAMinute) {
    EXPECT_EQ(delays(RetryPolicy::standard(), middle, 8),
              (Delays{2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s}));
    EXPECT_EQ(RetryPolicy::standard().max_attempts, 10u);
    EXPECT_EQ(RetryPolicy{}, RetryPolicy::standard());
}

TEST(RetryPolicy, S001_13_2_FastDoublesFrom200MillisecondsWithJitter) {
    const RetryPolicy fast = RetryPolicy::fast();
    EXPECT_EQ(delays(fast, middle, 4), (Delays{200ms, 400ms, 800ms, 1600ms}));
    EXPECT_EQ(delays(fast, lowest, 4), (Delays{100ms, 200ms, 400ms, 800ms}));
    const Delays upper = delays(fast, highest, 4);
    EXPECT_LE(upper[0], 300ms);
    EXPECT_GE(upper[0], 299'999us);
    EXPECT_EQ(fast.max_attempts, 10u);
}

TEST(RetryPolicy, JitterIsCappedAgain) {
    ConstantRandom high(highest);
    ConstantRandom low(lowest);
    EXPECT_EQ(RetryPolicy::fast().delay(20, high), Duration{60s});
    EXPECT_EQ(RetryPolicy::fast().delay(20, low), Duration{30s});
}

TEST(RetryPolicy, S001_13_1_AFunctionTakesThePlaceOfTheFormula) {
    ConstantRandom random(middle);
    RetryPolicy policy{.own = [](std::uint32_t attempts) { return Duration{attempts * 7s}; }};
    EXPECT_EQ(policy.delay(0, random), Duration{7s});
    EXPECT_EQ(policy.delay(1, random), Duration{7s});
    EXPECT_EQ(policy.delay(30, random), Duration{210s});  // the cap is the formula's
    EXPECT_NO_THROW(validate(policy));
    policy.own = [](std::uint32_t) { return Duration::zero(); };
    EXPECT_EQ(policy.delay(1, random), Duration{1us});
    policy.own = [](std::uint32_t) -> Duration { throw std::runtime_error("no idea"); };
    EXPECT_EQ(policy.delay(3, random), Duration{8s});
}

TEST(RetryPolicy, MinutesDoubleAndEndAfterThreeAttempts) {
    EXPECT_EQ(delays(RetryPolicy::minutes(), middle, 3), (Delays{2min, 4min, 8min}));
    EXPECT_EQ(delays(RetryPolicy::minutes(), middle, 12).back(), Duration{24h});
    EXPECT_EQ(RetryPolicy::minutes().max_attempts, 3u);
}

TEST(RetryPolicy, SteadyIsTenSecondsEachTime) {
    EXPECT_EQ(delays(RetryPolicy::steady(), middle, 4), (Delays{10s, 10s, 10s, 10s}));
    EXPECT_EQ(RetryPolicy::steady().max_attempts, 5u);
}

TEST(RetryPolicy, SteadyExponentialDoublesWithJitter) {
    const RetryPolicy policy = RetryPolicy::steady_exponential();
    EXPECT_EQ(delays(policy, middle, 5), (Delays{20s, 40s, 80s, 160s, 320s}));
    EXPECT_EQ(delays(policy, lowest, 3), (Delays{10s, 20s, 40s}));
    EXPECT_EQ(policy.max_attempts, 5u);
}

TEST(RetryPolicy, PresetsAreValid) {
    for (const RetryPolicy& policy :
         {RetryPolicy::standard(), RetryPolicy::fast(), RetryPolicy::minutes(),
          RetryPolicy::steady(), RetryPolicy::steady_exponential()})
        EXPECT_NO_THROW(validate(policy));
}

TEST(RetryPolicy, DeadExactlyWhenMaxAttemptsAreReached) {
    const RetryPolicy policy{.max_attempts = 3};
    EXPECT_FALSE(policy.exhausted(0));
    EXPECT_FALSE(policy.exhausted(2));
    EXPECT_TRUE(policy.exhausted(3));
    EXPECT_TRUE(policy.exhausted(4));
}

TEST(RetryPolicy, NoFailureCountsAsTheFirst) {
    ConstantRandom random(middle);
    EXPECT_EQ(RetryPolicy::standard().delay(0, random), Duration{2s});
}

TEST(RetryPolicy, DrawsANumberOnlyForJitter) {
    ConstantRandom random(middle);
    RetryPolicy::standard().delay(1, random);
    EXPECT_EQ(random.drawn, 0);
    RetryPolicy::fast().delay(1, random);
    EXPECT_EQ(random.drawn, 1);
}

TEST(RetryPolicy, HugeCountsAndCapsDoNotOverflow) {
    const RetryPolicy policy{.base = 1us, .factor = 1e300, .cap = Duration::max(), .jitter = 0.9};
    ConstantRandom high(highest);
    ConstantRandom low(lowest);
    for (const std::uint32_t n : {2u, 10u, 1'000'000'000u, 4'294'967'295u}) {
        EXPECT_EQ(policy.delay(n, high), Duration::max());
        EXPECT_GT(policy.delay(n, low), Duration::max() / 11);
        EXPECT_EQ(RetryPolicy::standard().delay(n == 2 ? 6 : n, high), Duration{60s});
    }
}

TEST(RetryPolicy, DelayIsAtLeastAMicrosecond) {
    const RetryPolicy policy{.base = 1us, .factor = 1.0, .cap = 1s, .jitter = 0.999};
    ConstantRandom low(lowest);
    EXPECT_EQ(policy.delay(1, low), Duration{1us});
}

struct Refused {
    RetryPolicy policy;
    std::string field;
    std::string limit;
};

TEST(RetryPolicy, ValidationNamesFieldAndLimit) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    for (const Refused& c : {
             Refused{{.base = 0s}, "base is 0 us", "above 0"},
             Refused{{.base = -1s}, "base is -1000000 us", "above 0"},
             Refused{{.factor = 0.99}, "factor is 0.99", "at least 1"},
             Refused{{.factor = nan}, "factor is nan", "at least 1"},
             Refused{{.factor = infinity}, "factor is inf", "finite"},
             Refused{{.base = 2s, .cap = 1s}, "cap is 1000000 us", "at least base (2000000 us)"},
             Refused{{.jitter = -0.1}, "jitter is -0.1", "at least 0"},
             Refused{{.jitter = 1.0}, "jitter is 1", "below 1"},
             Refused{{.jitter = nan}, "jitter is nan", "below 1"},
             Refused{{.max_attempts = 0}, "max_attempts is 0", "at least 1"},
         }) {
        try {
            validate(c.policy);
            ADD_FAILURE() << "accepted: " << c.field;
        } catch (const std::invalid_argument& refusal) {
            EXPECT_THAT(refusal.what(), AllOf(HasSubstr(c.field), HasSubstr(c.limit)));
        }
    }
}

RC_GTEST_PROP(RetryPolicyProperty, DelayStaysBetweenAMicrosecondAndTheCap,
              (std::uint32_t n, std::uint64_t seed)) {
    RetryPolicy policy;
    policy.base = Duration{*rc::gen::inRange<std::int64_t>(1, 100'000'000)};
    policy.cap = policy.base + Duration{*rc::gen::inRange<std::int64_t>(0, 10'000'000'000)};
    policy.factor = 1.0 + *rc::gen::inRange(0, 900) / 100.0;
    policy.jitter = *rc::gen::inRange(0, 100) / 100.0;
    validate(policy);
    base::SeededRandom random(seed);
    const Duration delay = policy.delay(n, random);
    RC_ASSERT(delay >= Duration{1});
    RC_ASSERT(delay <= policy.cap);
}

RC_GTEST_PROP(RetryPolicyProperty, WithoutJitterDelaysNeverShrink, ()) {
    RetryPolicy policy = RetryPolicy::minutes();
    policy.factor = 1.0 + *rc::gen::inRange(0, 900) / 100.0;
    const auto n = *rc::gen::inRange<std::uint32_t>(1, 100);
    ConstantRandom random(middle);
    RC_ASSERT(policy.delay(n, random) <= policy.delay(n + 1, random));
}

}  // namespace
}  // namespace postroom::retry_policy_test
