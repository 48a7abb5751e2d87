// One line of JSON for each message, to standard output or to a file.
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.hpp"
#include "postroom/sink.hpp"
#include "queue/message_json.hpp"
#include "sinks/stdout/line_file.hpp"

namespace postroom::sink_stdout {

namespace {

class StdoutSink final : public Sink {
public:
    StdoutSink(std::string path, bool sync)
        : name_(path.empty() ? "stdout" : "file " + path), sync_(sync), file_(std::move(path)) {}

    std::vector<Verdict> send(std::span<const Message> messages, std::stop_token) override {
        std::string lines;
        for (const Message& message : messages) lines += message_json(message) + '\n';
        const base::MutexLock lock(mutex_);
        try {
            if (closed_) throw DestinationDown(fmt::format("{}: closed", name_));
            file_.append(lines, sync_);
        } catch (const std::system_error& error) {
            // A full disk or a reader that went away says nothing about the messages.
            file_.close();
            throw DestinationDown(fmt::format("{}: {}", name_, error.what()));
        }
        return std::vector<Verdict>(messages.size());
    }

    std::string destination() const override { return name_; }

    void close() override {
        const base::MutexLock lock(mutex_);
        closed_ = true;
        file_.close();
    }

private:
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
                      .default_value = "true"}},
        .make = [](const SinkSettings& settings) -> std::unique_ptr<Sink> {
            return std::make_unique<StdoutSink>(settings.text("path"), settings.flag("sync"));
        },
    };
}

}  // namespace postroom::sink_stdout
