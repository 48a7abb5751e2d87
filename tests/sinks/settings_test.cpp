#include <gmock/gmock.h>

#include <fmt/format.h>

#include "postroom/sink.hpp"
#include "sinks/refusal.hpp"
#include "support/matchers.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

const std::vector<SinkSetting>& described() {
    static const std::vector<SinkSetting> settings{
        {.name = "url", .what = "Where to.", .kind = SettingKind::url, .required = true},
        {.name = "token", .what = "A secret.", .secret = true},
        {.name = "timeout",
         .what = "How long.",
         .kind = SettingKind::duration,
         .default_value = "30s",
         .least = 10,
         .most = 60'000},
        {.name = "batch",
         .what = "How many.",
         .kind = SettingKind::count,
         .default_value = "5",
         .least = 1,
         .most = 10},
        {.name = "mode",
         .what = "Which.",
         .kind = SettingKind::choice,
         .default_value = "fast",
         .choices = {"fast", "safe"}},
        {.name = "loud", .what = "Whether.", .kind = SettingKind::flag, .default_value = "false"},
        {.name = "hosts", .what = "Several.", .kind = SettingKind::list}};
    return settings;
}

SinkSettings read(std::map<std::string, std::string> settings) {
    settings.try_emplace("url", "x://h");
    return SinkSettings({.name = "out", .type = "demo", .settings = std::move(settings)},
                        described());
}

// What it is refused with; empty when it is not.
std::string refusal(const std::map<std::string, std::string>& settings) {
    return refusal_of([&] { read(settings); });
}

TEST(SinkSettings, DefaultsAreFilledIn) {
    const SinkSettings settings = read({});
    EXPECT_EQ(settings.duration("timeout"), 30s);
    EXPECT_EQ(settings.count("batch"), 5u);
    EXPECT_EQ(settings.text("mode"), "fast");
    EXPECT_FALSE(settings.flag("loud"));
    EXPECT_THAT(settings.list("hosts"), IsEmpty());
    EXPECT_EQ(settings.text("token"), "");
}

TEST(SinkSettings, EveryKindIsRead) {
    const SinkSettings settings = read({{"timeout", "1m"},
                                        {"batch", "10"},
                                        {"mode", "safe"},
                                        {"loud", "true"},
                                        {"hosts", " a,b\tc , "}});
    EXPECT_EQ(settings.duration("timeout"), 1min);
    EXPECT_EQ(settings.count("batch"), 10u);
    EXPECT_EQ(settings.text("mode"), "safe");
    EXPECT_TRUE(settings.flag("loud"));
    EXPECT_THAT(settings.list("hosts"), ElementsAre("a", "b", "c"));
    EXPECT_EQ(read({{"timeout", "10ms"}}).duration("timeout"), 10ms);
}

TEST(SinkSettings, AnUnknownSettingIsRefusedWithTheNearestOne) {
    EXPECT_THAT(refusal({{"tiemout", "1s"}}), AllOf(HasSubstr("tiemout|"), HasSubstr("sink 'out'"),
                                                    HasSubstr("did you mean 'timeout'?")));
    EXPECT_THAT(refusal({{"colour", "red"}}),
                AllOf(HasSubstr("known: url, token"), Not(HasSubstr("did you mean"))));
}

TEST(SinkSettings, AMissingSettingIsRefusedWithWhatItIs) {
    EXPECT_THAT(refusal({{"url", ""}}), AllOf(HasSubstr("url|"), HasSubstr("Where to.")));
}

TEST(SinkSettings, WhatDoesNotFitIsRefusedWithItsLimits) {
    for (const char* text : {"", "30", "s", "1d", "-1s", "9ms", "61s", "99999999999s", "1.5s"})
        EXPECT_THAT(refusal({{"timeout", text}}), HasSubstr("from 10ms to 1m, such as 30s"))
            << text;
    for (const char* text : {"", "0", "11", "5x", "-1", " 5", "99999999999999999999"})
        EXPECT_THAT(refusal({{"batch", text}}), HasSubstr("a whole number from 1 to 10")) << text;
    EXPECT_THAT(refusal({{"mode", "slow"}}), HasSubstr("one of fast, safe"));
    for (const char* text : {"", "yes", "True"})
        EXPECT_THAT(refusal({{"loud", text}}), HasSubstr("true or false")) << text;
    EXPECT_THAT(refusal({{"token", std::string("a\0b", 3)}}), HasSubstr("NUL"));
}

TEST(MakeSink, AnUnknownTypeIsRefusedWithTheNearestOne) {
    const auto refused = [](const std::string& type) -> std::string {
        try {
            make_sink({.name = "out", .type = type});
        } catch (const SinkConfigError& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_THAT(refused("sdtout"), HasSubstr("did you mean 'stdout'?"));
    EXPECT_THAT(refused("pigeon"), AllOf(HasSubstr("known: "), HasSubstr("stdout")));
}

TEST(MakeSink, ATypeOfOnesOwnIsMade) {
    class Null final : public Sink {
    public:
        std::vector<Verdict> send(std::span<const Message> messages, std::stop_token) override {
            return std::vector<Verdict>(messages.size());
        }
        std::string destination() const override { return "nowhere"; }
    };
    const std::vector<SinkType> types{{.name = "null",
                                       .what = "Nothing.",
                                       .settings = {},
                                       .make = [](const SinkSettings&) -> std::unique_ptr<Sink> {
                                           return std::make_unique<Null>();
                                       }}};
    EXPECT_EQ(make_sink({.name = "n", .type = "null"}, types)->destination(), "nowhere");
}

TEST(SinkTypes, EachDescribesItselfAndItsDefaultsFit) {
    for (const SinkType& type : sink_types()) {
        EXPECT_FALSE(type.what.empty()) << type.name;
        for (const SinkSetting& setting : type.settings) {
            EXPECT_THAT(setting.what, testing::EndsWith(".")) << type.name << ' ' << setting.name;
            if (setting.default_value.empty()) continue;
            const SinkConfig config{.name = "default",
                                    .type = type.name,
                                    .settings = {{setting.name, setting.default_value}}};
            EXPECT_NO_THROW(SinkSettings(config, std::span(&setting, 1)))
                << type.name << ' ' << setting.name;
        }
    }
}

TEST(Masked, OnlyWhatIsHarmlessIsShown) {
    const SinkSetting secret{.name = "token", .secret = true};
    const SinkSetting url{.name = "url", .kind = SettingKind::url};
    const SinkSetting plain{.name = "mode"};
    EXPECT_EQ(masked(secret, "hunter2"), "***");
    EXPECT_EQ(masked(secret, ""), "");
    EXPECT_EQ(masked(plain, "fast"), "fast");
    EXPECT_EQ(masked(url, "https://h:1/"), "https://h:1/");
    EXPECT_EQ(masked(url, "https://h/services/T0/hunter2"), "https://h/***");
    EXPECT_EQ(masked(url, "https://h?token=hunter2"), "https://h/***");
    EXPECT_EQ(masked(url, "amqp://me:hunter2@h:5672/shop"), "amqp://***@h:5672/***");
    EXPECT_EQ(masked(url, "amqp://me:hunt@er2@h"), "amqp://***@h");
    EXPECT_EQ(masked(url, "me:hunter2@h"), "***");
}

TEST(HandlerOf, ASinkThatIsNotThereIsRefused) {
    EXPECT_THROW(handler_of(nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace postroom::test
