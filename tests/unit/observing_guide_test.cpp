// The guide shows this code, and lists every line of the log and every figure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "postroom/metrics.hpp"
#include "postroom/observer.hpp"
#include "postroom/otlp.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"
#include "support/source_file.hpp"

namespace postroom::observing_guide_test {
namespace {

using testing::HasSubstr;

std::string guide() { return test::read_source_file("docs/guides/observing.md"); }

TEST(ObservingGuide, TheCodeWritesLinesAndCounts) {
    testing::internal::CaptureStderr();
    LogObserver log({.min_level = LogLevel::warning});
    Metrics metrics;
    Observers observer{&log, &metrics};
    observer.observe({.kind = EventKind::hot_dropped, .store = "main", .count = 2});

    const MetricsSnapshot figures = metrics.snapshot(Queue::outbox);
    const double failing = failure_ratio(figures);
    EXPECT_EQ(figures.hot_dropped, 2u);
    EXPECT_EQ(failing, 0.0);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::EndsWith("Z WARNING OUTBOX_HOT_DROP store=main count=2\n"));
}

TEST(ObservingGuide, TheCodeTraces) {
    ManualClock clock;
    MemoryStore store(clock);
    OtlpExporter exporter({.url = "http://127.0.0.1:4318/v1/traces"});
    TracingObserver tracing(exporter);
    Outbox outbox(store, {.queue = {.observer = &tracing}, .tracing = &tracing});
    outbox.enqueue({.topic = "order.placed", .payload = "{}"});
    EXPECT_TRUE(TraceContext::of(store.enqueued("order.placed").at(0).headers));
}

TEST(ObservingGuide, ItsCodeIsThatOfTheTest) {
    const std::string source = test::read_source_file("tests/unit/observing_guide_test.cpp");
    std::istringstream text(guide());
    int blocks = 0;
    for (std::string line; std::getline(text, line);) {
        if (line != "```cpp") continue;
        std::string block = "\n";
        while (std::getline(text, line) && line != "```") block += "    " + line + "\n";
        EXPECT_THAT(source, HasSubstr(block));
        ++blocks;
    }
    EXPECT_EQ(blocks, 3);
}

TEST(ObservingGuide, ItListsEveryLine) {
    std::set<std::string> names;
    LogObserver log({.write =
                         [&names](LogLevel, std::string_view text) {
                             names.emplace(text.substr(0, text.find(' ')));
                         },
                     .min_level = LogLevel::debug,
                     .summary_every = 1});
    for (std::size_t i = 0; i <= static_cast<std::size_t>(EventKind::oldest_lag); ++i)
        log.observe({.kind = static_cast<EventKind>(i), .count = 1, .operation = "claim"});
    log.observe({.kind = EventKind::claimed});  // after a failure: the store is back
    EXPECT_EQ(names.size(), 24u);
    const std::string text = guide();
    for (const std::string& name : names) EXPECT_THAT(text, HasSubstr("| `" + name + "` |"));
}

TEST(ObservingGuide, ItListsEveryFigure) {
    const std::string header = test::read_source_file("include/postroom/metrics.hpp");
    const std::size_t begin = header.find("struct MetricsSnapshot {");
    const std::string members = header.substr(begin, header.find("friend", begin) - begin);
    const std::regex member(R"(\n    [\w:]+ (\w+)( = 0|\{\});)");
    const std::string text = guide();
    int figures = 0;
    for (std::sregex_iterator found(members.begin(), members.end(), member), end; found != end;
         ++found, ++figures)
        EXPECT_THAT(text, HasSubstr("| `" + found->str(1) + "` |"));
    EXPECT_EQ(figures, 27);
}

TEST(ObservingGuide, ItListsEveryMetricAndNoOther) {
    const auto names_in = [](const std::string& text, const std::regex& name) {
        std::set<std::string> names;
        for (std::sregex_iterator found(text.begin(), text.end(), name), end; found != end; ++found)
            names.insert(found->str(1));
        return names;
    };
    const std::set<std::string> shown =
        names_in(test::read_source_file("src/observe/store_counters.cpp"),
                 std::regex("\"(postroom_[a-z_]+)\""));
    EXPECT_EQ(shown.size(), 30U);
    EXPECT_EQ(names_in(guide(), std::regex(R"(\n\| `(postroom_[a-z_]+)` \|)")), shown);
}

}  // namespace
}  // namespace postroom::observing_guide_test
