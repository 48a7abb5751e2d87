#include <stdexcept>
#include <utility>

#include "base/sha256.hpp"
#include "postroom/webhooks.hpp"

namespace postroom::webhooks {

namespace {

std::string digest_of(std::string_view body) {
    const base::Sha256Digest digest = base::sha256(body);
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

Receiver::Receiver(const Inbox& inbox, const Scheme& scheme, ReceiverOptions options)
    : inbox_(inbox), scheme_(scheme), options_(std::move(options)) {
    if (options_.source.empty()) throw std::invalid_argument("webhooks: source must be given");
    if (options_.topic.empty() == !options_.topic_of)
        throw std::invalid_argument("webhooks: give either topic or topic_of");
    if (!scheme_.carries_message_id() && !options_.message_id_of)
        throw std::invalid_argument(
            "webhooks: message_id_of must be given, the scheme carries no message id");
}

// nullopt, with the reason in `receipt`, when the inbox could not take the message.
std::optional<ReceivedMessage> Receiver::message_from(const Verification& verification,
                                                      std::string_view body,
                                                      Receipt& receipt) const {
    const Limits& limits = inbox_.store().limits();
    if (body.size() > limits.max_payload_bytes) {
        receipt.reason = "payload: longer than max_payload_bytes";
        return std::nullopt;
    }
    ReceivedMessage message{.source = options_.source,
                            .payload = std::string(body),
                            .hash = digest_of(body),
                            .content_type = options_.content_type};
    message.topic = options_.topic_of ? options_.topic_of(body).value_or("") : options_.topic;
    message.message_id = options_.message_id_of ? options_.message_id_of(body).value_or("")
                                                : verification.message_id;
    receipt.message_id = message.message_id;
    try {
        validate(message, limits);
    } catch (const std::invalid_argument& complaint) {
        receipt.reason = complaint.what();
        return std::nullopt;
    }
    return message;
}

Receipt Receiver::receive(std::span<const HeaderView> headers, std::string_view body,
                          std::stop_token stop) const {
    return verified(headers, body, [&](const ReceivedMessage& message) {
        return inbox_.enqueue(message, Revive::no, std::move(stop));
    });
}

Receipt Receiver::receive(TxContext& tx, std::span<const HeaderView> headers,
                          std::string_view body) const {
    return verified(headers, body,
                    [&](const ReceivedMessage& message) { return inbox_.enqueue(tx, message); });
}

Receipt Receiver::verified(
    std::span<const HeaderView> headers, std::string_view body,
    const std::function<ReceiveResult(const ReceivedMessage&)>& enqueue) const {
    const Verification verification = scheme_.verify(headers, body);
    Receipt receipt{.authenticity = verification.authenticity};
    if (!verification.ok()) return receipt;

    const std::optional<ReceivedMessage> message = message_from(verification, body, receipt);
    if (!message) {
        receipt.authenticity = Authenticity::unusable_message;
        return receipt;
    }
    const ReceiveResult result = enqueue(*message);
    // Seen is not queued: somebody has only asked about this message before.
    const bool fresh = !result.previous || result.previous == State::seen;
    receipt.outcome = fresh ? Receipt::Outcome::accepted : Receipt::Outcome::duplicate;
    if (result.id != WorkItemId{}) receipt.id = result.id;
    receipt.hash_mismatch = result.hash_mismatch;
    return receipt;
}

}  // namespace postroom::webhooks
