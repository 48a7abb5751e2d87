// The guide shows this code, and lists every line of the log and every figure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "postroom/log.hpp"
#include "postroom/metrics.hpp"

namespace postroom::observing_guide_test {
namespace {

using testing::HasSubstr;

std::string read(const std::string& name) {
    const std::filesystem::path path = std::filesystem::path(POSTROOM_SOURCE_DIR) / name;
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string guide() { return read("docs/guides/observing.md"); }

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

TEST(ObservingGuide, ItsCodeIsThatOfTheTest) {
    const std::string source = read("tests/unit/observing_guide_test.cpp");
    std::istringstream text(guide());
    int blocks = 0;
    for (std::string line; std::getline(text, line);) {
        if (line != "```cpp") continue;
        std::string block = "\n";
        while (std::getline(text, line) && line != "```") block += "    " + line + "\n";
        EXPECT_THAT(source, HasSubstr(block));
        ++blocks;
    }
    EXPECT_EQ(blocks, 2);
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
        log.observe({.kind = static_cast<EventKind>(i), .count = 1});
    EXPECT_EQ(names.size(), 21u);
    const std::string text = guide();
    for (const std::string& name : names) EXPECT_THAT(text, HasSubstr("| `" + name + "` |"));
}

TEST(ObservingGuide, ItListsEveryFigure) {
    const std::string header = read("include/postroom/metrics.hpp");
    const std::size_t begin = header.find("struct MetricsSnapshot {");
    const std::string members = header.substr(begin, header.find("friend", begin) - begin);
    const std::regex member(R"(\n    [\w:]+ (\w+)( = 0|\{\});)");
    const std::string text = guide();
    int figures = 0;
    for (std::sregex_iterator found(members.begin(), members.end(), member), end; found != end;
         ++found, ++figures)
        EXPECT_THAT(text, HasSubstr("| `" + found->str(1) + "` |"));
    EXPECT_EQ(figures, 23);
}

}  // namespace
}  // namespace postroom::observing_guide_test
