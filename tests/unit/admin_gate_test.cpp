// Who gets in, decided without any network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/http/gate.hpp"
#include "base/hex.hpp"
#include "base/sha256.hpp"

namespace postroom::admin_gate_test {
namespace {

using namespace std::chrono_literals;
using admin::Caller;
using admin::Gate;
using admin::Problem;
using admin::RequestHead;

class SetClock final : public Clock {
public:
    Instant now() const override { return time; }
    Instant time{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
};

AdminToken token(const std::string& name, AdminRole role) {
    return {
        .name = name, .sha256 = base::hex_encode(base::sha256("secret of " + name)), .role = role};
}

class AdminGate : public testing::Test {
protected:
    static RequestHead head(std::vector<std::pair<std::string, std::string>> more = {},
                            const std::string& host = "127.0.0.1:8025") {
        RequestHead out{.method = "GET", .target = "/api/session", .address = "192.0.2.1"};
        out.headers.emplace_back("host", host);
        for (auto& header : more) out.headers.push_back(std::move(header));
        return out;
    }
    // The status of the refusal; 0: it was let in.
    unsigned refusal(const RequestHead& given) {
        try {
            gate().admit(given, time_);
            return 0;
        } catch (const Problem& problem) {
            return problem.status();
        }
    }
    Caller caller(const std::string& authorization) {
        return gate().admit(head({{"authorization", authorization}}), time_);
    }
    Gate& gate() {
        if (!gate_) gate_ = std::make_unique<Gate>(options_, clock_);
        return *gate_;
    }

    AdminOptions options_{};
    SetClock clock_;
    admin::RateLimit::Time time_{};

private:
    std::unique_ptr<Gate> gate_;
};

TEST_F(AdminGate, WithoutTokensACallerHasTheAnonymousRole) {
    const Caller caller = gate().admit(head(), time_);
    EXPECT_EQ(caller.role, AdminRole::view);
    EXPECT_TRUE(caller.anonymous);
    EXPECT_EQ(caller.who(), "anonymous@192.0.2.1");
}

TEST_F(AdminGate, TheAnonymousRoleIsTheOneThatIsConfigured) {
    options_.anonymous = AdminRole::operate;
    EXPECT_EQ(gate().admit(head(), time_).role, AdminRole::operate);
}

// A proxy on this machine looks like somebody who sits at it.
TEST_F(AdminGate, WithoutTokensNobodyComesThroughAProxy) {
    for (const std::string name :
         {"forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host"})
        EXPECT_EQ(refusal(head({{name, "x"}})), 403U) << name;
    EXPECT_EQ(refusal(head({{"x-forwarding", "x"}})), 0U);
}

TEST_F(AdminGate, WithATokenOneMayComeThroughAProxy) {
    options_.tokens = {token("alice", AdminRole::view)};
    EXPECT_EQ(refusal(head(
                  {{"x-forwarded-for", "192.0.2.7"}, {"authorization", "Bearer secret of alice"}})),
              0U);
}

TEST_F(AdminGate, WithTokensACallerWithoutOneHasNoRole) {
    options_.tokens = {token("alice", AdminRole::admin)};
    EXPECT_EQ(gate().admit(head(), time_).role, AdminRole::none);
}

TEST_F(AdminGate, ATokenBringsItsNameAndRole) {
    options_.tokens = {token("alice", AdminRole::view), token("bob", AdminRole::reveal)};
    EXPECT_EQ(caller("Bearer secret of bob").name, "bob");
    EXPECT_EQ(caller("bearer secret of bob").role, AdminRole::reveal);
    EXPECT_FALSE(caller("Bearer secret of alice").anonymous);
}

TEST_F(AdminGate, AWrongTokenIsRefusedEvenWhereNoneIsNeeded) {
    EXPECT_EQ(refusal(head({{"authorization", "Bearer x"}})), 401U);
    EXPECT_EQ(refusal(head({{"authorization", "Basic eDp5"}})), 401U);
    EXPECT_EQ(refusal(head({{"authorization", ""}})), 401U);
}

TEST_F(AdminGate, TwoTokensAtOnceAreRefused) {
    options_.tokens = {token("alice", AdminRole::view)};
    EXPECT_EQ(refusal(head({{"authorization", "Bearer secret of alice"},
                            {"authorization", "Bearer secret of alice"}})),
              401U);
}

TEST_F(AdminGate, AnExpiredTokenIsRefused) {
    options_.tokens = {token("alice", AdminRole::view)};
    options_.tokens[0].expires_at = clock_.now() + 1min;
    EXPECT_EQ(refusal(head({{"authorization", "Bearer secret of alice"}})), 0U);
    clock_.time += 1min;
    EXPECT_EQ(refusal(head({{"authorization", "Bearer secret of alice"}})), 401U);
}

TEST_F(AdminGate, GuessingTokensIsRefusedForAWhile) {
    options_.limits.failures_per_minute = 3;
    options_.tokens = {token("alice", AdminRole::view)};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(refusal(head({{"authorization", "Bearer x"}})), 401U);
    EXPECT_EQ(refusal(head({{"authorization", "Bearer x"}})), 429U);
    EXPECT_EQ(refusal(head({{"authorization", "Bearer secret of alice"}})), 0U)
        << "who has a right one does not suffer for it";
    time_ += 21s;
    EXPECT_EQ(refusal(head({{"authorization", "Bearer x"}})), 401U);
}

TEST_F(AdminGate, EachCallerHasARateOfItsOwn) {
    options_.limits.requests_per_second = 1;
    options_.limits.burst = 2;
    options_.tokens = {token("alice", AdminRole::view), token("bob", AdminRole::view)};
    const RequestHead alice = head({{"authorization", "Bearer secret of alice"}});
    EXPECT_EQ(refusal(alice), 0U);
    EXPECT_EQ(refusal(alice), 0U);
    EXPECT_EQ(refusal(alice), 429U);
    EXPECT_EQ(refusal(head({{"authorization", "Bearer secret of bob"}})), 0U);
    time_ += 1s;
    EXPECT_EQ(refusal(alice), 0U);
    EXPECT_EQ(refusal(alice), 429U);
}

TEST_F(AdminGate, NamesThatAreNotOursAreRefused) {
    for (const std::string host :
         {"localhost", "127.0.0.1", "127.0.0.5:80", "[::1]:8025", "LocalHost:1"})
        EXPECT_EQ(refusal(head({}, host)), 0U) << host;
    for (const std::string host :
         {"evil.example", "127.0.0.1.evil.example", "", "localhost.", "[::2]"})
        EXPECT_EQ(refusal(head({}, host)), 403U) << host;
    EXPECT_EQ(refusal(head({{"host", "localhost"}})), 400U);
}

TEST_F(AdminGate, ConfiguredNamesAreOurs) {
    options_.hosts = {"Ops.example"};
    EXPECT_EQ(refusal(head({}, "ops.example:443")), 0U);
    EXPECT_EQ(refusal(head({}, "other.example")), 403U);
}

// Everybody needs a token there, and pages of others have none.
TEST_F(AdminGate, OnAnotherAddressAnyNameLeadsHereUnlessSomeAreConfigured) {
    options_.listen = "0.0.0.0:8025";
    EXPECT_EQ(refusal(head({}, "whatever.example")), 0U);
}

TEST_F(AdminGate, OnlyOurOwnPagesMayAsk) {
    EXPECT_EQ(refusal(head({{"origin", "http://127.0.0.1:8025"}})), 0U);
    for (const std::string origin :
         {"http://127.0.0.1:8026", "http://evil.example", "null", "", "127.0.0.1:8025"})
        EXPECT_EQ(refusal(head({{"origin", origin}})), 403U) << origin;
    EXPECT_EQ(refusal(head({{"sec-fetch-site", "cross-site"}})), 403U);
    EXPECT_EQ(refusal(head({{"sec-fetch-site", "same-origin"}})), 0U);
}

TEST_F(AdminGate, AnEscapedPathIsJudgedAsItIsRouted) {
    RequestHead from_elsewhere = head({{"sec-fetch-site", "cross-site"}});
    for (const std::string target : {"/%61pi/session", "/ap%69/session", "/%61%70%69?x=1"}) {
        from_elsewhere.target = target;
        EXPECT_EQ(refusal(from_elsewhere), 403U) << target;
    }
    for (const std::string target : {"/", "/assets/a.js", "/?q=/api"}) {
        from_elsewhere.target = target;
        EXPECT_EQ(refusal(from_elsewhere), 0U) << target;
    }
}

TEST(AdminRoles, IncludeEachOtherAsDescribed) {
    using R = AdminRole;
    const auto allowed = [](R role) {
        std::vector<bool> out;
        for (const R wanted : {R::none, R::view, R::operate, R::reveal, R::admin})
            out.push_back(may(role, wanted));
        return out;
    };
    using testing::ElementsAre;
    EXPECT_THAT(allowed(R::none), ElementsAre(true, false, false, false, false));
    EXPECT_THAT(allowed(R::view), ElementsAre(true, true, false, false, false));
    EXPECT_THAT(allowed(R::operate), ElementsAre(true, true, true, false, false));
    EXPECT_THAT(allowed(R::reveal), ElementsAre(true, true, false, true, false));
    EXPECT_THAT(allowed(R::admin), ElementsAre(true, true, true, true, true));
}

TEST(AdminOptionsCheck, AnotherAddressNeedsAToken) {
    AdminOptions options{.listen = "0.0.0.0:8025"};
    EXPECT_THROW(validate(options), std::invalid_argument);
    options.tokens = {token("alice", AdminRole::view)};
    EXPECT_NO_THROW(validate(options));
    for (const std::string listen : {"127.0.0.1:0", "[::1]:8025", "localhost:80"})
        EXPECT_NO_THROW(validate(AdminOptions{.listen = listen})) << listen;
    for (const std::string listen : {"", "8025", "127.0.0.1:", "127.0.0.1:70000", ":8025"})
        EXPECT_THROW(validate(AdminOptions{.listen = listen}), std::invalid_argument) << listen;
}

TEST(AdminOptionsCheck, ATokenIsAHashWithARole) {
    AdminOptions options{.tokens = {token("alice", AdminRole::none)}};
    EXPECT_THROW(validate(options), std::invalid_argument);
    options.tokens = {{.name = "alice", .sha256 = "secret", .role = AdminRole::view}};
    EXPECT_THROW(validate(options), std::invalid_argument);
}

TEST(AdminTarget, IsTakenApart) {
    const admin::Target target =
        admin::parse_target("/api/messages/a%2Fb?topic=x+y&state=dead%2Cready&blocking");
    EXPECT_THAT(target.segments, testing::ElementsAre("api", "messages", "a/b"));
    EXPECT_EQ(target.query.at("topic"), "x y");
    EXPECT_EQ(target.query.at("state"), "dead,ready");
    EXPECT_EQ(target.query.at("blocking"), "");
    for (const std::string bad :
         {"", "api", "http://a/b", "/%", "/%4", "/%zz", "/%00", "/%ff", "/?a=1&a=2"})
        EXPECT_THROW(admin::parse_target(bad), Problem) << bad;
}

}  // namespace
}  // namespace postroom::admin_gate_test
