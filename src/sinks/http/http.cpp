// POST for each message, several at a time, confirmed by a 2xx answer.
#include <atomic>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.hpp"
#include "postroom/sink.hpp"
#include "queue/key_order.hpp"
#include "sinks/http/lane.hpp"

namespace postroom::sink_http {

namespace {

class HttpSink final : public Sink {
public:
    explicit HttpSink(HttpOptions options)
        : options_(std::move(options)), guard_(options_.allowed_networks), maker_(options_) {}

    std::vector<Verdict> send(std::span<const Message> messages, std::stop_token stop) override {
        if (closed_) throw DestinationDown(options_.origin + ": the sink is closed");
        std::unique_ptr<Lane> lane = take_lane();
        std::vector<Verdict> verdicts =
            send_in_key_order(messages, [&](Wave wave) { return send_wave(*lane, wave, stop); });
        // One that threw is in an unknown state and ends with its connections.
        const base::MutexLock lock(mutex_);
        if (!closed_) lanes_.push_back(std::move(lane));
        return verdicts;
    }

    std::string destination() const override { return options_.origin; }

    void close() override {
        closed_ = true;
        const base::MutexLock lock(mutex_);
        lanes_.clear();
    }

private:
    std::unique_ptr<Lane> take_lane() {
        const base::MutexLock lock(mutex_);
        if (lanes_.empty())
            return std::make_unique<Lane>(LaneContext{options_, guard_, last_answer_});
        std::unique_ptr<Lane> lane = std::move(lanes_.back());
        lanes_.pop_back();
        return lane;
    }

    std::vector<Verdict> send_wave(Lane& lane, Wave wave, const std::stop_token& stop) {
        std::vector<std::optional<Verdict>> refused(wave.size());
        const auto make = [&](std::size_t i) -> std::optional<Request> {
            try {
                if (gone_) throw PermanentFailure(gone_text());
                return maker_.make(*wave[i]);
            } catch (const PermanentFailure& failure) {
                refused[i] = Verdict::fail(failure.what());
                return std::nullopt;
            }
        };
        const std::vector<Reply> replies = lane.run(wave.size(), make, stop);
        std::vector<Verdict> verdicts;
        for (std::size_t i = 0; i < wave.size(); ++i)
            verdicts.push_back(refused[i] ? *refused[i] : judge(replies[i]));
        return verdicts;
    }

    Verdict judge(const Reply& reply) {
        if (reply.fault == Reply::Fault::none && reply.status == status_gone) {
            gone_ = true;
            return Verdict::fail(gone_text());
        }
        return verdict_of(reply, options_.origin, options_.retry_after_max);
    }

    std::string gone_text() const {
        return options_.origin + " answered 410 Gone: the endpoint is disabled until a restart";
    }

    const HttpOptions options_;
    const AddressGuard guard_;
    const RequestMaker maker_;
    std::atomic<std::chrono::steady_clock::rep> last_answer_{0};
    std::atomic<bool> gone_{false};
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
