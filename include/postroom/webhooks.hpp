// Webhooks: know who sent an HTTP request, and take each message of theirs into the inbox once.
//
// Two ways of signing are spoken, both HMAC-SHA256 with a shared secret: StandardWebhooks (the
// headers webhook-id, webhook-timestamp, webhook-signature) and StripeStyle (one header
// "t=...,v1=..."). A Receiver puts one of them in front of an Inbox: the signature is verified
// first, and what does not verify writes nothing. That order matters: a forged message noted as
// seen would keep the genuine one out.
//
//     StandardWebhooks scheme({{"2024", "whsec_..."}});
//     Receiver receiver(inbox, scheme, {.source = "payments", .topic = "payment.received"});
//     const Receipt receipt = receiver.receive(request_headers, request_body);
//     respond(http_status(receipt), to_string(receipt.authenticity));
//
// The body must be the bytes as they came in; JSON that was parsed and written again is another
// body. What a sender does wrong is told by Authenticity, never by an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/clock.hpp"
#include "postroom/ids.hpp"
#include "postroom/inbox.hpp"

namespace postroom::webhooks {

enum class Authenticity : std::uint8_t {
    ok,
    missing_header,         // a header of the scheme is absent or empty
    malformed,              // one is there twice, or does not have its form
    header_too_large,       // one is longer than header_bytes_max
    too_many_signatures,    // more than signatures_max
    timestamp_too_old,      // signed longer than the tolerance ago: a replay, or a slow clock
    timestamp_in_future,    // signed later than now and the tolerance
    unknown_version,        // no signature is of a version that we know
    no_matching_signature,  // made with another key, or for another message
    unusable_message,       // the signature holds, but id, topic or body do not fit the inbox
};
std::string_view to_string(Authenticity authenticity);

// A header of a request that came in. Names are compared without regard to case.
struct HeaderView {
    std::string_view name{};
    std::string_view value{};
};

// A header to send.
struct Header {
    std::string name{};
    std::string value{};
};

// A secret shared with the sender, under a name of our own that may be logged.
struct Key {
    std::string name{};
    std::string secret{};
};

struct SchemeOptions {
    // How far the time of signing may lie from now, in either direction.
    Duration tolerance = std::chrono::minutes{5};
    std::size_t header_bytes_max = std::size_t{8} * 1024;
    std::size_t signatures_max = 16;
    // Of this machine, which must be right to within the tolerance; nullptr: the system's. Must
    // outlive the scheme.
    const Clock* clock = nullptr;
};

struct Verification {
    Authenticity authenticity = Authenticity::missing_header;
    // The rest is set when that is ok.
    std::string message_id{};  // empty when the scheme carries none
    Instant signed_at{};
    std::string key_name{};  // of the key that made the signature

    bool ok() const { return authenticity == Authenticity::ok; }
};

// Scheme: a way of signing, with the keys that count. A message is genuine when any of its
// signatures was made with any of the keys, so keys are changed without a gap: add the new one, let
// the sender change over, revoke the old one.
//
// All keys and signatures are compared, each in a time that does not depend on where they differ.
//
// Thread safety: keys may be added and revoked while others verify and sign; a key revoked before a
// call to verify() is not accepted by it.
class Scheme {
public:
    static constexpr std::size_t keys_max = 16;

    virtual ~Scheme();
    Scheme(const Scheme&) = delete;
    Scheme& operator=(const Scheme&) = delete;

    // Whether `body` came, as it is, with these headers from somebody who knows a key, just now.
    // Headers that the scheme does not use are ignored.
    virtual Verification verify(std::span<const HeaderView> headers,
                                std::string_view body) const = 0;

    // Whether the signed headers name the message, so that verify() returns its id.
    virtual bool carries_message_id() const = 0;

    // Throws std::invalid_argument for a secret that is none, for a name that is empty or taken,
    // and beyond keys_max. The text never holds the secret.
    void add_key(const Key& key);
    // From now on signatures of this key do not count, nor is anything signed with it. The name is
    // free again. False: there is no such key. Without any key nothing verifies.
    bool revoke_key(std::string_view name);

protected:
    class Core;
    explicit Scheme(std::unique_ptr<Core> core);
    const Core& core() const { return *core_; }

private:
    const std::unique_ptr<Core> core_;
};

// StandardWebhooks: the scheme of that specification, version v1. Secrets are 24 to 64 bytes in
// base64, with or without "whsec_" in front.
//
// A message id is 1 to 255 visible ASCII characters without '.': the dot separates id, time and
// body in what is signed, and one inside the id would let a signature fit two messages.
class StandardWebhooks final : public Scheme {
public:
    // Throws std::invalid_argument without any key and for a bad one, std::out_of_range for an
    // option of zero or less.
    explicit StandardWebhooks(std::span<const Key> keys, const SchemeOptions& options = {});
    explicit StandardWebhooks(std::initializer_list<Key> keys, const SchemeOptions& options = {});

    Verification verify(std::span<const HeaderView> headers, std::string_view body) const override;
    bool carries_message_id() const override { return true; }

    // The three headers to send with `body`, signed now with every key. Throws
    // std::invalid_argument for an id as described above, Error{misuse} when all keys are revoked.
    std::vector<Header> sign(std::string_view message_id, std::string_view body) const;
};

// StripeStyle: time and signatures in one header, "t=<seconds>,v1=<hex>,v1=<hex>". Other elements
// are ignored. Secrets are taken as the text they are ("whsec_" included), 16 to 512 characters.
//
// The header does not name the message: whoever receives takes the id from the body.
class StripeStyle final : public Scheme {
public:
    static constexpr std::string_view default_header = "Stripe-Signature";

    // Throws as add_key(), and std::invalid_argument for an empty header name.
    explicit StripeStyle(std::span<const Key> keys, const SchemeOptions& options = {},
                         std::string_view header_name = default_header);
    explicit StripeStyle(std::initializer_list<Key> keys, const SchemeOptions& options = {},
                         std::string_view header_name = default_header);

    Verification verify(std::span<const HeaderView> headers, std::string_view body) const override;
    bool carries_message_id() const override { return false; }

    // The header to send with `body`, signed now with every key. Throws Error{misuse} when all keys
    // are revoked.
    Header sign(std::string_view body) const;

private:
    const std::string header_name_;
};

// Reads something out of a verified body; nullopt when it is not there. What it throws comes out of
// receive().
using Extractor = std::function<std::optional<std::string>(std::string_view body)>;

struct ReceiverOptions {
    std::string source{};  // of all messages that come this way; must be given
    std::string topic{};   // of all of them, or
    Extractor topic_of{};  // by body; one of the two must be given
    // By body. Must be given when the scheme carries no message id; takes its place when it does.
    Extractor message_id_of{};
    // Not taken from the request, whose Content-Type nobody signed.
    std::string content_type = "application/json";
};

struct Receipt {
    enum class Outcome : std::uint8_t {
        accepted,   // queued now
        duplicate,  // known before, by source and message id; takes no second effect
        rejected,   // authenticity says why; nothing was written
    };
    Outcome outcome = Outcome::rejected;
    Authenticity authenticity = Authenticity::missing_header;
    std::string message_id{};        // unless the verification failed
    std::optional<WorkItemId> id{};  // of the queued message, unless it is rejected or done
    // A duplicate with another body: the sender uses the id twice.
    bool hash_mismatch = false;
    std::string reason{};  // for the log when the message is unusable: which limit it broke
};

// What to answer the sender: 200 when the message is ours now (accepted or duplicate), else 400 for
// headers that are missing or garbled, 401 for what did not verify, 422 for an unusable message,
// 431 for too much of a header.
int http_status(const Receipt& receipt);

// Receiver: an inbox behind a signature.
//
// A message that was queued and not yet handled takes the content of its latest arrival, as
// Inbox::enqueue() does; one that is done or dead stays so.
//
// Thread safety: may be shared between threads.
class Receiver {
public:
    // `inbox` and `scheme` must outlive this object. Throws std::invalid_argument when the options
    // lack something.
    Receiver(const Inbox& inbox, const Scheme& scheme, ReceiverOptions options);

    // Verifies, then queues the body as a message with its SHA-256 digest (32 bytes) as hash. With
    // `tx` the message is queued when that commits; answer the sender after that. Throws Error when
    // the database fails: answer 503, and the sender comes again.
    Receipt receive(std::span<const HeaderView> headers, std::string_view body,
                    std::stop_token stop = {}) const;
    Receipt receive(TxContext& tx, std::span<const HeaderView> headers,
                    std::string_view body) const;

private:
    // `enqueue` is called for a message that verifies and is usable.
    Receipt verified(std::span<const HeaderView> headers, std::string_view body,
                     const std::function<ReceiveResult(const ReceivedMessage&)>& enqueue) const;
    std::optional<ReceivedMessage> message_from(const Verification& verification,
                                                std::string_view body, Receipt& receipt) const;

    const Inbox& inbox_;
    const Scheme& scheme_;
    const ReceiverOptions options_;
};

}  // namespace postroom::webhooks
