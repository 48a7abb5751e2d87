// Persistent messages to an exchange, done when the server has confirmed them.
#include <atomic>
#include <utility>

#include "base/mutex.hpp"
#include "postroom/sink.hpp"
#include "queue/key_order.hpp"
#include "sinks/rabbitmq/link.hpp"

namespace postroom::sink_rabbitmq {

namespace {

// How many times in a row a message may break its connection, while no other message shows that the
// server works, until that costs it attempts.
constexpr std::uint64_t unanswered_max = 20;

class RabbitSink final : public Sink {
public:
    explicit RabbitSink(RabbitOptions options) : options_(std::move(options)) {}

    std::vector<Verdict> send(std::span<const Message> messages, std::stop_token stop) override {
        if (closed_) throw DestinationDown(options_.origin() + ": the sink is closed");
        std::unique_ptr<Link> link = take_link();
        std::vector<Verdict> verdicts =
            send_in_key_order(messages, [&](Wave wave) { return link->send(wave, stop); });
        const base::MutexLock lock(mutex_);
        if (!closed_) links_.push_back(std::move(link));
        return verdicts;
    }

    std::string destination() const override { return options_.origin(); }

    bool probe() override {
        Link(options_, suspects_).probe();
        return true;
    }

    std::vector<std::string> warnings() const override {
        if (!options_.vhost.empty()) return {};
        return {
            "'url' ends with a slash and so names the virtual host with the empty name; for the "
            "usual one, which is named '/', leave the slash out or write %2f behind it"};
    }

    void close() override {
        closed_ = true;
        const base::MutexLock lock(mutex_);
        links_.clear();
    }

private:
    std::unique_ptr<Link> take_link() {
        const base::MutexLock lock(mutex_);
        if (links_.empty()) return std::make_unique<Link>(options_, suspects_);
        std::unique_ptr<Link> link = std::move(links_.back());
        links_.pop_back();
        return link;
    }

    const RabbitOptions options_;
    Suspects suspects_{unanswered_max};
    std::atomic<bool> closed_{false};
    base::Mutex mutex_;
    std::vector<std::unique_ptr<Link>> links_ POSTROOM_GUARDED_BY(mutex_);  // not in use
};

}  // namespace

SinkType type() {
    return {.name = "rabbitmq",
            .what = "Persistent messages to an exchange of RabbitMQ, each confirmed by the server.",
            .settings = described_settings(),
            .make = [](const SinkSettings& settings) -> std::unique_ptr<Sink> {
                return std::make_unique<RabbitSink>(read_options(settings));
            }};
}

}  // namespace postroom::sink_rabbitmq
