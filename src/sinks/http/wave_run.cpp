#include "sinks/http/wave_run.hpp"

#include <algorithm>
#include <utility>

#include "queue/handler_run.hpp"
#include "queue/partial_outage.hpp"

namespace postroom::sink_http {

namespace {

using SteadyClock = std::chrono::steady_clock;

}  // namespace

std::vector<Verdict> WaveRun::send() {
    std::vector<std::size_t> fresh;
    std::vector<std::pair<Time, std::size_t>> tried;
    for (std::size_t i = 0; i < wave_.size(); ++i) {
        if (const auto last = endpoint_.suspects.last_unanswered(wave_[i]->message_id.str()))
            tried.emplace_back(*last, i);
        else
            fresh.push_back(i);
    }
    // Who has waited longest goes first, so that they take turns while the destination is down.
    std::ranges::sort(tried);
    std::vector<std::size_t> suspects;
    for (const auto& [last, position] : tried) suspects.push_back(position);

    send_together(fresh);
    send_one_by_one(suspects);
    std::vector<Verdict> verdicts;
    for (std::optional<Verdict>& verdict : verdicts_) verdicts.push_back(*std::move(verdict));
    return verdicts;
}

// All of them have as much time as one request: the rest of the batch waits for them.
void WaveRun::send_one_by_one(Positions suspects) {
    const Time deadline = SteadyClock::now() + endpoint_.options.timeout;
    for (std::size_t i = 0; i < suspects.size(); ++i) {
        if (outage_) {
            verdicts_[suspects[i]] = outage_;
        } else if (SteadyClock::now() >= deadline) {
            verdicts_[suspects[i]] =
                Verdict{.outcome = Outcome::release,
                        .error = endpoint_.options.origin +
                                 ": waits for another message that remains without an answer",
                        .delay = blameless_pause};
        } else {
            send_together(suspects.subspan(i, 1));
        }
    }
}

void WaveRun::send_together(Positions positions) {
    const Lane::Script script{.make = [&](std::size_t i) { return make(positions[i]); },
                              .replied = [this](const Reply& reply) { note(reply); },
                              .hold = [this] { return asks_for_a_pause_of_all(); }};
    const std::vector<Reply> replies = lane_.run(positions.size(), script, stop_);
    // Whoever was answered speaks for the destination before the others are judged.
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (!verdicts_[positions[i]] && is_served(replies[i]))
            endpoint_.suspects.answered(wave_[positions[i]]->message_id.str(), replies[i].begun);
    }
    for (std::size_t i = 0; i < positions.size(); ++i) {
        std::optional<Verdict>& verdict = verdicts_[positions[i]];
        if (!verdict) verdict = judge(*wave_[positions[i]], replies[i]);
        if (verdict->destination_down) outage_ = verdict;
    }
}

std::optional<Request> WaveRun::make(std::size_t position) {
    try {
        if (endpoint_.gone) throw PermanentFailure(endpoint_.gone_text());
        if (asks_for_a_pause_of_all() || endpoint_.is_quiet())
            throw DestinationDown(endpoint_.quiet_text());
        return endpoint_.maker.make(*wave_[position]);
    } catch (const PermanentFailure& failure) {
        verdicts_[position] = Verdict::fail(failure.what());
    } catch (const DestinationDown& down) {
        verdicts_[position] = Verdict::down(down.what());
    }
    return std::nullopt;
}

void WaveRun::note(const Reply& reply) {
    if (is_served(reply)) last_served_ = reply.ended;
    if (asks_for_a_pause(reply)) pause_asked_ = true;
}

Verdict WaveRun::judge(const Message& message, const Reply& reply) {
    if (reply.fault == Reply::Fault::none && reply.status == status_gone) {
        endpoint_.gone = true;
        return Verdict::fail(endpoint_.gone_text());
    }
    if (asks_for_a_pause(reply)) return judge_pause(reply);
    if (is_in_doubt(reply)) return judge_in_doubt(message, reply);
    return verdict_of(reply, endpoint_.options.origin);
}

// Whoever serves others means this message alone, or its sender's share of something.
Verdict WaveRun::judge_pause(const Reply& reply) {
    Verdict verdict = Verdict::down(text_of(reply, endpoint_.options.origin));
    if (last_served_)
        return spared(std::move(verdict), reply.retry_after.value_or(partial_outage_pause));
    if (reply.retry_after) endpoint_.be_quiet_until(reply.ended + *reply.retry_after);
    return verdict;
}

Verdict WaveRun::judge_in_doubt(const Message& message, const Reply& reply) {
    const std::string why = text_of(reply, endpoint_.options.origin);
    const Suspects::Finding finding =
        endpoint_.suspects.unanswered(message.message_id.str(), SteadyClock::now());
    Verdict verdict = verdict_of(finding, why);
    if (finding.blame == Blame::message) verdict.delay = reply.retry_after;
    // Silence proves nothing: the destination may have died after it served the others.
    const bool lives =
        reply.fault != Reply::Fault::no_reply && last_served_ && *last_served_ > reply.begun;
    return lives && verdict.destination_down ? spared(std::move(verdict)) : verdict;
}

}  // namespace postroom::sink_http
