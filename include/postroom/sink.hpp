// Sinks: where a relay delivers messages to. A sink takes a batch and says what became of each
// message, once the other side has confirmed it.
//
//   auto sink = make_sink({.name = "audit", .type = "stdout", .settings = {{"path", "a.jsonl"}}});
//   dispatcher.routes().on_batch("order.placed", 50, handler_of(std::move(sink)));
//
// Settings are text, as a configuration file or the environment gives them. Each type describes its
// settings as data (SinkType), so that a program can document, check and mask them; make_sink()
// checks them all before the sink exists. The types that the program is linked with are listed by
// sink_types(); a type of one's own is a SinkType for the other make_sink().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/clock.hpp"
#include "postroom/handler.hpp"
#include "postroom/message.hpp"

namespace postroom {

// Sink: a destination of messages.
//
// Every sink keeps these promises. A message is done only when the destination has confirmed it. A
// destination that cannot be reached costs no attempt (Verdict::down). The message id travels
// along, the same in every attempt, for the receiver to deduplicate by. Two messages of one
// ordering key are never under way together, and when one of them is not delivered, the later ones
// of the batch are not tried. No text of a verdict holds a secret or a payload, unless the
// destination repeats one in its answer.
//
// Thread safety: send() and probe() may be called from several threads at a time; close() too,
// once.
class Sink {
public:
    Sink() = default;
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    virtual ~Sink() = default;

    // One verdict for each message, in order. When `stop` is requested it returns soon: what was
    // not confirmed by then is released, and may be delivered twice. What it throws counts for all
    // of them, as in a handler.
    virtual std::vector<Verdict> send(std::span<const Message> messages, std::stop_token stop) = 0;

    // Where the messages go, for logs and circuits: harmless text, without any secret. Sinks with
    // the same destination share their fate.
    virtual std::string destination() const = 0;

    // Looks whether the destination can be reached, as far as that goes without sending a message:
    // connects, with TLS and by signing in where there is such. False: there is nothing to connect
    // to. Throws DestinationDown, which says why not.
    virtual bool probe() { return false; }

    // What is odd about its settings though it may be meant, in sentences without any secret: for
    // the log at the start.
    virtual std::vector<std::string> warnings() const { return {}; }

    // Ends connections in good order; what is sent afterwards is an outage. The destructor does it
    // too.
    virtual void close() {}
};

// The form of a setting's text.
enum class SettingKind : std::uint8_t {
    text,
    path,
    url,       // may hold a password or a token: only scheme and host are shown
    list,      // words separated by spaces or commas
    flag,      // true or false
    count,     // a whole number within [least, most]
    duration,  // a number with ms, s, m or h, such as 30s; least and most are in milliseconds
    choice,    // one of `choices`
    decimal,   // a number within [least, most], such as 1.5
};
std::string_view to_string(SettingKind kind);

struct SinkSetting {
    std::string name{};
    std::string what{};  // one sentence for the reference
    SettingKind kind = SettingKind::text;
    std::string default_value{};
    bool required = false;
    bool secret = false;  // never shown; every word of a list is one
    std::vector<std::string> choices{};
    std::uint64_t least = 0;
    std::uint64_t most = UINT64_MAX;
};

// A sink as configured. `name` is the user's, for logs and errors.
struct SinkConfig {
    std::string name{};
    std::string type{};
    std::map<std::string, std::string> settings{};
};

// A configuration that cannot be: which setting of which sink, what is wrong, and what would be
// right. The text holds no secret. `setting` is empty when the type itself is unknown.
class SinkConfigError : public std::invalid_argument {
public:
    SinkConfigError(const std::string& sink, std::string setting, const std::string& what);
    const std::string& setting() const { return setting_; }

private:
    std::string setting_;
};

// SinkSettings: all settings of a sink, checked, defaults filled in. Asking for a setting that the
// type does not describe, or for another kind, is a bug of the sink and aborts.
class SinkSettings {
public:
    // Throws SinkConfigError: an unknown setting, with the nearest known one; a missing one; a text
    // that does not have its kind's form or is outside its limits.
    SinkSettings(const SinkConfig& config, std::span<const SinkSetting> described);

    const std::string& sink() const { return sink_; }
    const std::string& text(std::string_view name) const;  // text, path, url and choice
    std::vector<std::string> list(std::string_view name) const;
    bool flag(std::string_view name) const;
    std::uint64_t count(std::string_view name) const;
    Duration duration(std::string_view name) const;

    // For what only the sink can judge.
    [[noreturn]] void refuse(std::string_view name, const std::string& why) const;

private:
    struct Value {
        SettingKind kind{};
        std::string text{};
    };
    const std::string& value(std::string_view name, SettingKind kind) const;

    std::string sink_;
    std::map<std::string, Value, std::less<>> values_;
};

// A kind of sink, as data, and how one is made. `make` throws SinkConfigError; it does not connect,
// so that a destination that is down at start is an outage like any other.
struct SinkType {
    std::string name{};
    std::string what{};  // one sentence for the reference
    std::vector<SinkSetting> settings{};
    std::function<std::unique_ptr<Sink>(const SinkSettings&)> make{};
};

// Those that were built in, by name.
std::vector<SinkType> sink_types();

// Throws SinkConfigError. The second form is for types of one's own, in place of sink_types().
std::unique_ptr<Sink> make_sink(const SinkConfig& config);
std::unique_ptr<Sink> make_sink(const SinkConfig& config, std::span<const SinkType> types);

// `value` as it may be shown: "***" in place of a secret, and of all but scheme and host of a URL.
std::string masked(const SinkSetting& setting, std::string_view value);

// For Routes::on_batch(). The sink lives as long as the handler. std::invalid_argument for none.
BatchHandler handler_of(std::shared_ptr<Sink> sink);

}  // namespace postroom
