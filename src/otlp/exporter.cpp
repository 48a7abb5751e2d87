#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/sleep.hpp"
#include "observe/log_line.hpp"
#include "otlp/collector.hpp"
#include "otlp/otlp_json.hpp"
#include "otlp/span_queue.hpp"
#include "postroom/otlp.hpp"

namespace postroom {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::minutes line_interval{1};
constexpr std::size_t value_chars_max = 1000;

OtlpOptions checked(OtlpOptions options) {
    if (options.batch_max == 0 || options.queue_max == 0 || options.attempts_max == 0 ||
        options.timeout <= Duration::zero())
        throw std::invalid_argument("OtlpOptions: a limit is zero");
    options.batch_max = std::min(options.batch_max, options.queue_max);
    options.resource.try_emplace("service.name", "postroom");
    if (!options.log) options.log = &log_to_stderr;
    return options;
}

// CollectorLog: what is said about a collector: that it fails, now and then how many spans that
// has cost, and that it is back. Of one thread.
class CollectorLog {
public:
    explicit CollectorLog(const OtlpOptions& options)
        : log_(options.log), origin_(otlp::origin_of(options.url)) {}

    void failed(std::string_view error, std::uint64_t dropped) {
        failing_ = true;
        if (is_due(failure_told_))
            write(LogLevel::warning, line("TRACES_EXPORT_FAIL", dropped).add("error", error));
    }
    void taken(std::uint64_t dropped) {
        if (std::exchange(failing_, false)) {
            failure_told_.reset();
            write(LogLevel::info, line("TRACES_EXPORT_BACK", dropped));
        } else if (dropped > told_ && is_due(drop_told_)) {
            write(LogLevel::warning, line("TRACES_DROPPED", dropped));
        }
    }
    void closed(std::uint64_t dropped) {
        if (dropped > told_) write(LogLevel::warning, line("TRACES_DROPPED", dropped));
    }

private:
    using Told = std::optional<SteadyClock::time_point>;

    static bool is_due(Told& told) {
        const SteadyClock::time_point now = SteadyClock::now();
        if (told && now - *told < line_interval) return false;
        told = now;
        return true;
    }
    LogLine line(std::string name, std::uint64_t dropped) {
        told_ = dropped;
        LogLine line(std::move(name), value_chars_max);
        line.add("collector", origin_).add("dropped", dropped);
        return line;
    }
    void write(LogLevel level, const LogLine& line) const noexcept {
        try {
            log_(level, line.text());
        } catch (...) {
            // A log that fails does not end the sending.
        }
    }

    const std::function<void(LogLevel, std::string_view)> log_;
    const std::string origin_;
    bool failing_ = false;
    std::uint64_t told_ = 0;
    Told failure_told_;
    Told drop_told_;
};

}  // namespace

class OtlpExporter::Parts {
public:
    explicit Parts(OtlpOptions options)
        : options_(checked(std::move(options))),
          collector_(options_),
          log_(options_),
          queue_({.size = options_.queue_max,
                  .batch = options_.batch_max,
                  .batch_delay = options_.batch_delay}),
          thread_([this](const std::stop_token& stop) { run(stop); }) {}

    void take(Span span) noexcept { queue_.push(std::move(span)); }

    void close() noexcept {
        std::call_once(closed_, [this] {
            queue_.close();
            collector_.give_up_at(SteadyClock::now() + options_.close_timeout);
            thread_.request_stop();
            thread_.join();
            log_.closed(queue_.dropped());
        });
    }

    OtlpFigures figures() const { return {.sent = sent_, .dropped = queue_.dropped()}; }

private:
    // Signals are for the threads of the application.
    void run(const std::stop_token& stop) {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        for (;;) {
            const std::vector<Span> batch = queue_.next(stop);
            if (batch.empty()) return;
            try {
                send(batch, stop);
            } catch (const std::exception& error) {  // no memory for the request
                give_up(batch.size(), error.what());
            }
        }
    }

    void send(const std::vector<Span>& batch, const std::stop_token& stop) {
        const std::string json = otlp::spans_json(options_.resource, batch);
        Duration pause = options_.retry_pause;
        for (std::uint32_t attempt = 1;; ++attempt, pause *= 2) {
            const otlp::Posted posted = collector_.post(json);
            if (posted.error.empty()) {
                sent_ += batch.size();
                return log_.taken(queue_.dropped());
            }
            if (!posted.passing || attempt >= options_.attempts_max || stop.stop_requested())
                return give_up(batch.size(), posted.error);
            log_.failed(posted.error, queue_.dropped());
            // A stop ends the pause, not the hope: there is time for one more.
            base::sleep_for(stop, pause);
        }
    }

    void give_up(std::size_t count, std::string_view error) {
        queue_.count_dropped(count);
        log_.failed(error, queue_.dropped());
    }

    const OtlpOptions options_;
    otlp::Collector collector_;
    CollectorLog log_;  // of the thread, and of close() after it
    otlp::SpanQueue queue_;
    std::atomic<std::uint64_t> sent_ = 0;
    std::once_flag closed_;
    std::jthread thread_;  // last: it uses the others
};

OtlpExporter::OtlpExporter(OtlpOptions options)
    : parts_(std::make_unique<Parts>(std::move(options))) {}

OtlpExporter::~OtlpExporter() { close(); }

void OtlpExporter::take(Span span) noexcept { parts_->take(std::move(span)); }
void OtlpExporter::close() noexcept { parts_->close(); }
OtlpFigures OtlpExporter::figures() const { return parts_->figures(); }

}  // namespace postroom
