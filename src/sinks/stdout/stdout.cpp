// One line of JSON for each message, to standard output or to a file.
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.hpp"
#include "postroom/sink.hpp"
#include "queue/handler_run.hpp"
#include "queue/message_json.hpp"
#include "sinks/stdout/line_file.hpp"

namespace postroom::sink_stdout {

namespace {

class StdoutSink final : public Sink {
public:
    StdoutSink(std::string path, bool sync, Duration stall_timeout)
        : name_(path.empty() ? "stdout" : "file " + path),
          sync_(sync),
          file_(std::move(path), stall_timeout) {}

    std::vector<Verdict> send(std::span<const Message> messages, std::stop_token stop) override {
        std::string lines;
        std::vector<std::size_t> ends;
        for (const Message& message : messages) {
            lines += message_json(message) + '\n';
            ends.push_back(lines.size());
        }
        const std::size_t written = write(lines, stop);
        std::vector<Verdict> verdicts(messages.size());
        for (std::size_t i = 0; i < verdicts.size(); ++i) {
            if (ends[i] > written) verdicts[i] = not_written(stop);
        }
        return verdicts;
    }

    std::string destination() const override { return name_; }

    void close() override {
        const base::MutexLock lock(mutex_);
        closed_ = true;
        file_.close();
    }

private:
    Verdict not_written(const std::stop_token& stop) const {
        if (!stop.stop_requested()) return Verdict::down(fmt::format("{}: nobody reads it", name_));
        return {.outcome = Outcome::release,
                .error = fmt::format("{}: asked to stop, nobody reads it", name_),
                .delay = blameless_pause};
    }

    std::size_t write(std::string_view lines, const std::stop_token& stop) {
        const base::MutexLock lock(mutex_);
        try {
            if (closed_) throw DestinationDown(fmt::format("{}: closed", name_));
            return file_.append(lines, sync_, stop);
        } catch (const std::system_error& error) {
            // A full disk or a reader that went away says nothing about the messages.
            file_.close();
            throw DestinationDown(fmt::format("{}: {}", name_, error.what()));
        }
    }

    const std::string name_;
    const bool sync_;
    base::Mutex mutex_;
    LineFile file_ POSTROOM_GUARDED_BY(mutex_);
    bool closed_ POSTROOM_GUARDED_BY(mutex_) = false;
};

}  // namespace

SinkType type() {
    return {
        .name = "stdout",
        .what = "One line of JSON for each message, to standard output or appended to a file.",
        .settings = {{.name = "path",
                      .what = "The file to append to; empty for standard output.",
                      .kind = SettingKind::path},
                     {.name = "sync",
                      .what = "Messages are done when the disk has them; false: when the system "
                              "has them. For files.",
                      .kind = SettingKind::flag,
                      .default_value = "true"},
                     {.name = "stall_timeout",
                      .what = "How long the reader of a pipe may take nothing until that is an "
                              "outage.",
                      .kind = SettingKind::duration,
                      .default_value = "20s",
                      .least = 10,
                      .most = 600'000}},
        .make = [](const SinkSettings& settings) -> std::unique_ptr<Sink> {
            return std::make_unique<StdoutSink>(settings.text("path"), settings.flag("sync"),
                                                settings.duration("stall_timeout"));
        },
    };
}

}  // namespace postroom::sink_stdout
