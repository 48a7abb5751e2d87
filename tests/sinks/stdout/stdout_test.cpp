#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "postroom/sink.hpp"
#include "sinks/messages.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::string> lines_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

std::unique_ptr<Sink> file_sink(const std::filesystem::path& path) {
    return make_sink({.name = "out", .type = "stdout", .settings = {{"path", path.string()}}});
}

TEST(StdoutSink, WritesOneLineForEachMessage) {
    TempDir folder;
    const std::unique_ptr<Sink> sink = file_sink(folder / "out.jsonl");
    const std::vector<Verdict> verdicts =
        send_all(*sink, {message_with("a", "{\n\"n\":1}"), message_with("b", "\xff")});
    ASSERT_THAT(verdicts, SizeIs(2));
    EXPECT_EQ(verdicts[0].outcome, Outcome::ack);
    EXPECT_EQ(verdicts[1].outcome, Outcome::ack);
    EXPECT_EQ(send_one(*sink, message_with("c")).outcome, Outcome::ack);
    EXPECT_THAT(lines_of(folder / "out.jsonl"),
                ElementsAre(HasSubstr(R"("payload":{"n":1})"), HasSubstr(R"("payload_base64")"),
                            HasSubstr(R"("message_id":"c")")));
}

TEST(StdoutSink, GoesToStandardOutputWithoutAPath) {
    const std::unique_ptr<Sink> sink = make_sink({.name = "out", .type = "stdout"});
    EXPECT_EQ(sink->destination(), "stdout");
    testing::internal::CaptureStdout();
    send_one(*sink, message_with("a"));
    EXPECT_THAT(testing::internal::GetCapturedStdout(),
                testing::AllOf(HasSubstr(R"("message_id":"a")"), testing::EndsWith("}\n")));
}

TEST(StdoutSink, AFileThatCannotBeOpenedIsAnOutage) {
    TempDir folder;
    const std::filesystem::path path = folder / "missing/out.jsonl";
    const std::unique_ptr<Sink> sink = file_sink(path);
    EXPECT_THROW(send_one(*sink, message_with("a")), DestinationDown);
    std::filesystem::create_directory(path.parent_path());
    EXPECT_EQ(send_one(*sink, message_with("a")).outcome, Outcome::ack);
    EXPECT_THAT(lines_of(path), SizeIs(1));
}

TEST(StdoutSink, AFullDiskIsAnOutage) {
    const std::unique_ptr<Sink> sink = file_sink("/dev/full");
    EXPECT_THROW(send_one(*sink, message_with("a")), DestinationDown);
}

TEST(StdoutSink, LinesOfSeveralThreadsAreNotMixed) {
    TempDir folder;
    const std::unique_ptr<Sink> sink =
        make_sink({.name = "out",
                   .type = "stdout",
                   .settings = {{"path", (folder / "out.jsonl").string()}, {"sync", "false"}}});
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&sink] {
                for (int i = 0; i < 50; ++i)
                    send_all(*sink, {message_with("m", "{}"), message_with("m", "{}")});
            });
        }
    }
    const std::vector<std::string> lines = lines_of(folder / "out.jsonl");
    ASSERT_THAT(lines, SizeIs(400));
    for (const std::string& line : lines) EXPECT_EQ(line, lines.front());
}

TEST(StdoutSink, ClosedItIsAnOutage) {
    TempDir folder;
    const std::unique_ptr<Sink> sink = file_sink(folder / "out.jsonl");
    sink->close();
    EXPECT_THROW(send_one(*sink, message_with("a")), DestinationDown);
}

}  // namespace
}  // namespace postroom::test
