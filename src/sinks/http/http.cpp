// POST for each message, several at a time, confirmed by a 2xx answer.
#include <atomic>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.hpp"
#include "postroom/sink.hpp"
#include "queue/key_order.hpp"
#include "sinks/http/endpoint.hpp"
#include "sinks/http/lane.hpp"
#include "sinks/http/wave_run.hpp"

namespace postroom::sink_http {

namespace {

class HttpSink final : public Sink {
public:
    explicit HttpSink(HttpOptions options) : endpoint_(std::move(options)) {}

    std::vector<Verdict> send(std::span<const Message> messages, std::stop_token stop) override {
        if (closed_) throw DestinationDown(endpoint_.options.origin + ": the sink is closed");
        if (endpoint_.is_quiet()) throw DestinationDown(endpoint_.quiet_text());
        std::unique_ptr<Lane> lane = take_lane();
        std::vector<Verdict> verdicts = send_in_key_order(
            messages, [&](Wave wave) { return WaveRun(endpoint_, *lane, wave, stop).send(); });
        // One that threw is in an unknown state and ends with its connections.
        const base::MutexLock lock(mutex_);
        if (!closed_) lanes_.push_back(std::move(lane));
        return verdicts;
    }

    std::string destination() const override { return endpoint_.options.origin; }

    bool probe() override {
        const std::unique_ptr<Lane> lane = take_lane();
        if (const std::optional<std::string> why = lane->why_unreachable())
            throw DestinationDown(fmt::format("{}: {}", endpoint_.options.origin, *why));
        return true;
    }

    void close() override {
        closed_ = true;
        const base::MutexLock lock(mutex_);
        lanes_.clear();
    }

private:
    std::unique_ptr<Lane> take_lane() {
        const base::MutexLock lock(mutex_);
        if (lanes_.empty())
            return std::make_unique<Lane>(
                LaneContext{endpoint_.options, endpoint_.guard, endpoint_.last_answer});
        std::unique_ptr<Lane> lane = std::move(lanes_.back());
        lanes_.pop_back();
        return lane;
    }

    Endpoint endpoint_;
    std::atomic<bool> closed_{false};
    base::Mutex mutex_;
    std::vector<std::unique_ptr<Lane>> lanes_ POSTROOM_GUARDED_BY(mutex_);  // not in use
};

std::unique_ptr<Sink> make(const SinkSettings& settings) {
    HttpOptions options = read_options(settings);
    try {
        return std::make_unique<HttpSink>(std::move(options));
    } catch (const SinkConfigError&) {
        throw;
    } catch (const std::invalid_argument& error) {
        settings.refuse("signing_keys", fmt::format("cannot be used: {}", error.what()));
    }
}

}  // namespace

SinkType type() {
    return {.name = "http",
            .what = "A signed POST for each message, as CloudEvents or as it is.",
            .settings = described_settings(),
            .make = &make};
}

}  // namespace postroom::sink_http
