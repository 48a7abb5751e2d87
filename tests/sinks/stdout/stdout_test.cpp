#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "postroom/sink.hpp"
#include "sinks/messages.hpp"
#include "support/temp_dir.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
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
    EXPECT_EQ(send_one(*sink, message_with("a")).outcome, Outcome::ack);
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

TEST(StdoutSink, ANamedPipeWithoutAReaderIsAnOutage) {
    TempDir folder;
    const std::filesystem::path path = folder / "pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const std::unique_ptr<Sink> sink = file_sink(path);
    EXPECT_THROW(send_one(*sink, message_with("a")), DestinationDown);
}

TEST(StdoutSink, AStopEndsTheWaitForAReaderThatDoesNotRead) {
    TempDir folder;
    const std::filesystem::path path = folder / "pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    const std::unique_ptr<Sink> sink = file_sink(path);
    std::vector<Message> messages;
    for (int i = 0; i < 8; ++i)
        messages.push_back(message_with(std::to_string(i), std::string(100'000, '1')));
    messages.front().payload = "1";
    std::stop_source stop;
    std::vector<Verdict> verdicts;
    {
        std::jthread sender([&] { verdicts = sink->send(messages, stop.get_token()); });
        // The pipe is full when nothing more comes into it.
        int before = -1;
        const auto is_stalled = [&] {
            int now = 0;
            ::ioctl(reader, FIONREAD, &now);
            return std::exchange(before, now) == now && now > 4096;
        };
        EXPECT_TRUE(wait_until(is_stalled, 60s, 200ms));
        stop.request_stop();
    }
    ASSERT_THAT(verdicts, SizeIs(8));
    EXPECT_EQ(verdicts.front().outcome, Outcome::ack) << "its line was written";
    EXPECT_EQ(verdicts.back().outcome, Outcome::release);
    EXPECT_FALSE(verdicts.back().destination_down);
    ::close(reader);
}

TEST(StdoutSink, AReaderThatDoesNotReadForTooLongIsAnOutage) {
    TempDir folder;
    const std::filesystem::path path = folder / "pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    const std::unique_ptr<Sink> sink =
        make_sink({.name = "out",
                   .type = "stdout",
                   .settings = {{"path", path.string()}, {"stall_timeout", "200ms"}}});
    std::vector<Message> messages;
    for (int i = 0; i < 8; ++i)
        messages.push_back(message_with(std::to_string(i), std::string(100'000, '1')));
    messages.front().payload = "1";
    const std::vector<Verdict> verdicts = send_all(*sink, messages);
    EXPECT_EQ(verdicts.front().outcome, Outcome::ack) << "its line was written";
    EXPECT_TRUE(verdicts.back().destination_down);
    EXPECT_THAT(verdicts.back().error, HasSubstr("nobody reads it"));
    ::close(reader);
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
