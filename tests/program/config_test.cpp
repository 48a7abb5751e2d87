// Configuration: where a value comes from, what is refused, and what is never shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/program.hpp"

namespace postroom::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// The line of `config show` about one key.
std::string shown(const ProgramFolder& folder, const std::string& key,
                  std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {"config", "show"});
    const std::string all = folder.good(arguments);
    const std::size_t at = all.find("\n" + key + " ");
    EXPECT_NE(at, std::string::npos) << key << " in " << all;
    return at == std::string::npos ? "" : all.substr(at + 1, all.find('\n', at + 1) - at - 1);
}

Ran check(const std::string& toml) {
    const ProgramFolder folder;
    folder.write("postroom.toml", toml);
    Ran ran = folder.run({"config", "check"});
    EXPECT_FALSE(std::filesystem::exists(folder / "postroom.db"));
    return ran;
}

TEST(ProgramConfig, FlagsWinOverEnvironmentOverFileOverDefault) {
    ProgramFolder folder;
    EXPECT_THAT(shown(folder, "relay.batch"), testing::MatchesRegex("relay.batch +50 +default"));
    folder.write("postroom.toml", "[relay]\nbatch = 7\n");
    EXPECT_THAT(shown(folder, "relay.batch"),
                testing::MatchesRegex("relay.batch +7 +postroom.toml:2"));
    folder.set("POSTROOM_RELAY__BATCH", "8");
    EXPECT_THAT(shown(folder, "relay.batch"),
                testing::MatchesRegex("relay.batch +8 +POSTROOM_RELAY__BATCH"));
    EXPECT_THAT(shown(folder, "relay.batch", {"--set", "relay.batch=9"}),
                testing::MatchesRegex("relay.batch +9 +--set"));
}

TEST(ProgramConfig, WithoutAnyThereIsAFileHereAndStandardOutput) {
    const ProgramFolder folder;
    EXPECT_THAT(shown(folder, "stores.main.url"), HasSubstr("sqlite:postroom.db"));
    EXPECT_THAT(shown(folder, "routes.0.sink"), HasSubstr("stdout"));
}

TEST(ProgramConfig, EverySinkMayHaveARate) {
    const auto with_rate = [](const std::string& rate) {
        return check("[sinks.out]\ntype = \"stdout\"\nrate = " + rate + "\n");
    };
    for (const char* const good : {"10", "0.5", "0"}) EXPECT_EQ(with_rate(good).code, 0) << good;
    EXPECT_THAT(with_rate("-1").err,
                HasSubstr("postroom.toml:3: sinks.out.rate must be a number from 0 to 1000000"));
    EXPECT_THAT(with_rate("0.0001").err,
                HasSubstr("postroom.toml:3: sinks.out.rate must be 0 or at least 0.001"));
}

TEST(ProgramConfig, O6_TheParametersOfARetryPolicyAreCheckedWhereTheyStand) {
    EXPECT_THAT(check("[relay]\nretry_factor = 0.5\n").err,
                HasSubstr("postroom.toml:2: relay.retry_factor must be a number from 1 to 1000"));
    EXPECT_THAT(check("[relay]\nretry_base = \"2m\"\n").err,
                HasSubstr("relay.retry: retry policy: cap is 60000000 us, must be at least base"));
    EXPECT_THAT(check("[relay]\nretry_jitter = 1\n").err,
                HasSubstr("jitter is 1, must be at least 0 and below 1"));
    EXPECT_THAT(check("[sinks.out]\ntype = \"stdout\"\nretry_base = \"2m\"\n").err,
                HasSubstr("sinks.out.retry: retry policy: cap is 60000000 us, must be at least "));
    EXPECT_EQ(check("[relay]\nretry = \"fast\"\nretry_base = \"1s\"\nretry_factor = 1.5\n"
                    "retry_cap = \"5m\"\nretry_jitter = 0.1\nmax_attempts = 7\n"
                    "[stores.main]\nurl = \"sqlite:a.db\"\nmax_error_chars = 2000\n")
                  .code,
              0);
}

TEST(ProgramConfig, UnknownKeyNamesFileLineAndNearest) {
    const Ran ran = check("[relay]\nbatch = 5\nworker_cuont = 2\n");
    EXPECT_EQ(ran.code, 5);
    EXPECT_EQ(ran.err,
              "postroom: postroom.toml:3: unknown key 'relay.worker_cuont'; did you mean "
              "'relay.worker_count'? (postroom help errors config)\n");
    EXPECT_THAT(check("[stores.main]\nulr = \"sqlite:a.db\"\n").err,
                HasSubstr("postroom.toml:2: unknown key 'stores.main.ulr'; did you mean "
                          "'stores.main.url'?"));
    EXPECT_THAT(check("[sinks.file]\ntype = \"stdout\"\npaht = \"a\"\n").err,
                HasSubstr("postroom.toml:3: unknown key 'sinks.file.paht'; did you mean "
                          "'sinks.file.path'?"));
}

TEST(ProgramConfig, WhatNeedsANameIsToldItsForm) {
    for (const std::string table : {"sinks", "sink"})
        EXPECT_THAT(check("[[" + table + "]]\nname = \"hook\"\n").err,
                    HasSubstr("postroom.toml:1: [[" + table +
                              "]]: a sink is a table with a name: write [sinks.NAME]"));
    EXPECT_THAT(check("[[stores]]\nurl = \"sqlite:a.db\"\n").err, HasSubstr("write [stores.NAME]"));
    EXPECT_THAT(check("url = \"sqlite:a.db\"\n").err, HasSubstr("did you mean 'stores.main.url'?"));
    EXPECT_THAT(check("[stores]\nurl = \"sqlite:a.db\"\n").err,
                HasSubstr("did you mean 'stores.main.url'?"));
}

TEST(ProgramConfig, MalformedTomlNamesFileAndLine) {
    const Ran ran = check("[relay]\nbatch = \n");
    EXPECT_EQ(ran.code, 5);
    EXPECT_THAT(ran.err, HasSubstr("postroom.toml:2: not TOML"));
    EXPECT_EQ(count_of(ran.err, "\n"), 1U);
}

TEST(ProgramConfig, ValuesOfTheWrongFormAreRefusedWithWhatIsRight) {
    EXPECT_THAT(check("[relay]\nbatch = 0\n").err,
                HasSubstr("postroom.toml:2: relay.batch must be a whole number from 1 to 10000"));
    EXPECT_THAT(check("[relay]\nlease = 30\n").err, HasSubstr("must be a number with a unit"));
    EXPECT_THAT(check("[relay]\nretry = \"often\"\n").err, HasSubstr("must be one of standard"));
    EXPECT_THAT(check("[log]\nper_message = 1\n").err, HasSubstr("must be true or false"));
    EXPECT_THAT(check("[relay]\nbatch = 1.5\n").err,
                HasSubstr("relay.batch must be a whole number from 1 to 10000"));
}

TEST(ProgramConfig, RoutesAndSinksMustFitTogether) {
    const std::string sinks = "[sinks.files]\ntype = \"stdout\"\n[sinks.out]\ntype = \"stdout\"\n";
    EXPECT_THAT(check(sinks).err, HasSubstr("several sinks and no [[routes]]"));
    EXPECT_THAT(check(sinks + "[[routes]]\ntopic = \"a\"\nsink = \"file\"\n").err,
                HasSubstr("postroom.toml:7: there is no sink 'file'; did you mean 'files'?"));
    EXPECT_THAT(check("[sinks.a]\ntype = \"stdoot\"\n").err,
                HasSubstr("unknown type 'stdoot'; did you mean 'stdout'?"));
    EXPECT_THAT(check("[stores.north]\nschema = \"x\"\n").err,
                HasSubstr("stores.north has no url"));
    EXPECT_EQ(check(sinks + "[[routes]]\ntopic = \"a\"\nsink = \"out\"\n").code, 0);
}

TEST(ProgramConfig, VariablesAndFilesAreReadIntoValues) {
    ProgramFolder folder;
    folder.write("postroom.toml", "[stores.main]\nurl = \"sqlite:${env:WHICH}.db\"\n");
    Ran ran = folder.run({"config", "check"});
    EXPECT_EQ(ran.code, 5);
    EXPECT_THAT(ran.err, HasSubstr("postroom.toml:2: the environment has no variable 'WHICH'"));
    folder.set("WHICH", "chosen");
    folder.good({"migrate", "up"});
    EXPECT_TRUE(std::filesystem::exists(folder / "chosen.db"));
    folder.write("url", "sqlite:by_file.db\n");
    folder.write("postroom.toml", "[stores.main]\nurl = \"${file:url}\"\n");
    folder.good({"migrate", "up"});
    EXPECT_TRUE(std::filesystem::exists(folder / "by_file.db"));
}

TEST(ProgramConfig, NamesOfTheEnvironmentAreCheckedToo) {
    ProgramFolder folder;
    folder.set("POSTROOM_RELAY__BTACH", "8");
    const Ran ran = folder.run({"config", "check"});
    EXPECT_EQ(ran.code, 5);
    EXPECT_THAT(ran.err, HasSubstr("POSTROOM_RELAY__BTACH: unknown key 'relay.btach'; did you mean "
                                   "'relay.batch'?"));
    ProgramFolder slip;
    slip.set("POSTROOM_ULR", "sqlite:a.db");
    EXPECT_THAT(slip.run({"config", "check"}).err, HasSubstr("did you mean 'POSTROOM_URL'?"));
}

TEST(ProgramConfig, VariablesThatMeanNothingDrawAWarning) {
    ProgramFolder folder;
    folder.set("POSTROOM_WHATEVER", "hush");
    folder.set("POSTROOM_SERVICE_HOST", "10.0.0.1");  // as Kubernetes sets it
    const Ran ran = folder.run({"config", "check"});
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.err, HasSubstr("postroom: warning: the environment has POSTROOM_WHATEVER,"));
    EXPECT_THAT(ran.err, Not(HasSubstr("hush")));
    EXPECT_EQ(count_of(ran.err, "\n"), 1U) << ran.err;
    EXPECT_EQ(ProgramFolder().run({"config", "check"}).err, "");
}

TEST(ProgramConfig, AnOddSinkDrawsAWarning) {
    const Ran ran = check("[sinks.rabbit]\ntype = \"rabbitmq\"\nurl = \"amqp://127.0.0.1/\"\n");
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.err, HasSubstr("postroom: warning: sink 'rabbit': 'url' ends with a slash"));
}

TEST(ProgramConfig, TheDoctorSeesAnOddSinkToo) {
    const ProgramFolder folder;
    folder.write("postroom.toml",
                 "[sinks.rabbit]\ntype = \"rabbitmq\"\nurl = \"amqp://127.0.0.1:1/\"\n");
    folder.good({"migrate", "up"});
    EXPECT_THAT(folder.run({"doctor", "--json"}).out,
                HasSubstr("{\"about\":\"sinks.rabbit\",\"check\":\"settings\",\"health\":"
                          "\"warning\",\"what\":\"'url' ends with a slash"));
}

// Nothing has to be reached for it: what only the sink can judge is one bad finding, and what every
// command refuses is refused by the doctor too.
TEST(ProgramConfig, TheDoctorFailsForASettingOfASinkThatCannotBeAndNamesIt) {
    const ProgramFolder folder;
    const std::string sink = "[sinks.hook]\ntype = \"http\"\nurl = \"https://10.0.0.1/in\"\n";
    folder.write("postroom.toml", sink);
    folder.good({"migrate", "up"});
    const Ran ran = folder.run({"doctor", "--json"});
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_THAT(ran.out,
                HasSubstr("{\"about\":\"sinks.hook\",\"check\":\"destination\",\"health\":\"bad\","
                          "\"what\":\"sink 'hook': 'url' names 10.0.0.1, which is not a public"));
    EXPECT_EQ(count_of(ran.out, "\"health\":\"bad\""), 1U) << ran.out;

    folder.write("postroom.toml", sink + "format = \"yaml\"\n");
    const Ran refused = folder.run({"doctor"});
    EXPECT_EQ(refused.code, 5);
    EXPECT_THAT(refused.err, HasSubstr("postroom.toml:4: sinks.hook.format must be one of"));
}

TEST(ProgramConfig, AKeyOfVeryManyPartsIsRefused) {
    std::string parts = "a";
    for (int i = 1; i < 100'000; ++i) parts += ".a";
    for (const std::string& toml :
         {"x = 1\n" + parts + " = 1\n", "\n[" + parts + "]\n", "\n[[" + parts + "]]\n",
          "\nx = {" + parts + " = 1}\n", "\n\"q.q\"." + parts + " = 1\n"}) {
        const Ran ran = check(toml);
        EXPECT_EQ(ran.code, 5) << toml.substr(0, 20);
        EXPECT_EQ(ran.err,
                  "postroom: postroom.toml:2: a key has more than 32 parts (postroom help errors "
                  "config)\n");
    }
}

TEST(ProgramConfig, DotsOutsideOfKeysAreNotCounted) {
    const std::string dots(1000, '.');
    EXPECT_EQ(check("# " + dots + "\n[log] # " + dots + "\nlevel = \"info\"\n").code, 0);
    EXPECT_THAT(check("[log]\nlevel = \"" + dots + "\"\n").err, HasSubstr("must be one of"));
    EXPECT_THAT(check("[log]\nlevel = \"\"\"\n\\\"" + dots + "\"\"\"\n").err,
                HasSubstr("must be one of"));
    EXPECT_THAT(check("[log]\nlevel = '''" + dots + "\n" + dots + "'''\n").err,
                HasSubstr("must be one of"));
}

TEST(ProgramConfig, ANulIsRefused) {
    for (const std::string url : {"mysql://[::1\\u0000]/shop", "mysql://app@db/sh\\u0000op",
                                  "sqlite:a\\u0000.db", "postgresql://db/shop\\u0000"}) {
        const Ran ran = check("[stores.main]\nurl = \"" + url + "\"\n");
        EXPECT_EQ(ran.code, 5) << url;
        EXPECT_THAT(ran.err, HasSubstr("postroom.toml:2: stores.main.url must not hold a NUL"));
    }
}

TEST(ProgramConfig, AFileWithAHostIsRefusedWithAHint) {
    const ProgramFolder folder;
    for (const std::string command : {"status", "list", "doctor", "relay"}) {
        const Ran ran = folder.run({command, "--url", "sqlite://shop.db"});
        EXPECT_NE(ran.code, 0) << command;
        EXPECT_THAT(ran.err + ran.out, HasSubstr("write sqlite:shop.db for a relative path"))
            << command;
    }
}

TEST(ProgramConfig, AMissingFileIsNamed) {
    const Ran ran = ProgramFolder().run({"config", "check", "--config", "none.toml"});
    EXPECT_EQ(ran.code, 4);
    EXPECT_THAT(ran.err, HasSubstr("cannot read the file 'none.toml'"));
}

TEST(ProgramSecrets, ShowMasksThemWhateverTheyLookLike) {
    ProgramFolder folder;
    for (const std::string url :
         {"postgresql://app:hush@db/shop", "postgresql://app:hu/hush@db/shop?x=1",
          "postgresql://db/shop?password=hush", "mysql://hush:hush@db/shop",
          "host=db user=app password=hush"}) {
        folder.set("POSTROOM_URL", url);
        EXPECT_THAT(folder.good({"config", "show"}), Not(HasSubstr("hush"))) << url;
        EXPECT_THAT(folder.good({"config", "show", "--json"}), Not(HasSubstr("hush"))) << url;
    }
    folder.set("HIDDEN", "hush");
    folder.write("postroom.toml", "[stores.b]\nurl = \"postgresql://app:${env:HIDDEN}@db/shop\"\n");
    EXPECT_THAT(folder.good({"config", "show"}), Not(HasSubstr("hush")));
    for (const std::string url :
         {"https://hooks.example/services/hush", "https://hooks.example/in?token=hush"}) {
        folder.write("postroom.toml", "[sinks.hook]\ntype = \"http\"\nurl = \"" + url + "\"\n");
        EXPECT_THAT(folder.good({"config", "show"}), Not(HasSubstr("hush"))) << url;
        EXPECT_THAT(folder.good({"config", "show"}), HasSubstr("https://")) << url;
    }
}

TEST(ProgramSecrets, AFileThatEverybodyCanReadDrawsAWarning) {
    const ProgramFolder folder;
    const std::string hook = "[sinks.hook]\ntype = \"http\"\nurl = \"https://h/\"\n";
    const auto warning = [&](const std::string& toml, unsigned rights) {
        folder.write("postroom.toml", toml);
        std::filesystem::permissions(folder / "postroom.toml",
                                     static_cast<std::filesystem::perms>(rights));
        const Ran ran = folder.run({"config", "check"});
        EXPECT_EQ(ran.code, 0) << ran.err;
        EXPECT_THAT(ran.err, Not(HasSubstr("hush")));
        return ran.err;
    };
    const std::string secret = hook + "authorization = \"Bearer hush\"\n";
    EXPECT_THAT(warning(secret, 0644),
                HasSubstr("warning: everybody on this machine can read postroom.toml, which holds "
                          "secrets (sinks.hook.authorization)"));
    EXPECT_EQ(warning(secret, 0640), "");
    EXPECT_THAT(warning("[stores.main]\nurl = \"postgresql://app:hush@db/shop\"\n", 0644),
                HasSubstr("(stores.main.url)"));
    EXPECT_EQ(warning(hook, 0644), "");
    folder.write("key", "Bearer hush\n");
    EXPECT_EQ(warning(hook + "authorization = \"${file:key}\"\n", 0644), "");
}

TEST(ProgramSecrets, OnTheCommandLineTheyAreRefusedAndNotRepeated) {
    const ProgramFolder folder;
    const Ran by_url = folder.run({"status", "--url", "postgresql://app:hush@db/shop"});
    EXPECT_EQ(by_url.code, 2);
    EXPECT_THAT(by_url.err, HasSubstr("process list"));
    EXPECT_THAT(by_url.err, Not(HasSubstr("hush")));
    const Ran by_set =
        folder.run({"status", "--set", "stores.main.url=postgresql://db/shop?password=hush"});
    EXPECT_EQ(by_set.code, 2);
    EXPECT_THAT(by_set.err, Not(HasSubstr("hush")));
}

TEST(ProgramSecrets, NeitherUrlsNorPayloadsAreQuotedInErrors) {
    ProgramFolder folder;
    for (const std::string url :
         {"postgresql://app:hush@127.0.0.1:1/shop", "Server=db;Password=hush;Host=tcp:db",
          "mysql://app:hush@127.0.0.1:1/shop", "postgresql://app:hush@[bad/shop",
          "sqlite://app:hush@db/shop"}) {
        folder.set("POSTROOM_URL", url);
        for (const std::string command : {"status", "doctor", "relay"}) {
            const Ran ran = folder.run({command});
            EXPECT_NE(ran.code, 0) << url << command;
            EXPECT_THAT(ran.err + ran.out, Not(HasSubstr("hush"))) << url << command;
        }
    }
    const ProgramFolder local;
    for (const std::string line :
         {R"({"topic":"a","payload":"hush)", R"({"topic":"a","payload":hush})",
          R"({"topic":5,"payload":"hush"})", R"({"topic":"a","payload_base64":"hush!"})",
          R"({"topic":"a","payload":1,"headers":{"token":["hush"]}})"}) {
        const Ran ran = local.run({"enqueue", "--jsonl"}, line);
        EXPECT_EQ(ran.code, 7) << line;
        EXPECT_THAT(ran.err + ran.out, Not(HasSubstr("hush"))) << line;
    }
    EXPECT_THAT(local.run({"enqueue", "a", "hush"}).err, Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace postroom::test
