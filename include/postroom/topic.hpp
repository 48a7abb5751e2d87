// TopicName and AggregateType: names that say what they name, from text or from your own enum.
//
// An enum joins in with one function beside it, found by argument-dependent lookup:
//
//     enum class UserTopic { created, deleted };
//     constexpr std::string_view to_name(UserTopic topic) {
//         return topic == UserTopic::created ? "user.created" : "user.deleted";
//     }
//
//     outbox.enqueue({.topic = UserTopic::created, .payload = json});   // typed
//     outbox.enqueue({.topic = "user.renamed", .payload = json});       // dynamic
//
// A topic is never taken for an aggregate type or the other way round. Lengths and emptiness are
// checked where the name is used: validate(), enqueue(), on().
//
// Thread safety: plain values.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace postroom {

// An enum that has a to_name() of its own.
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
    { to_name(value) } -> std::convertible_to<std::string_view>;
};

// Text in any of its usual types.
template <class S>
concept NameText = std::convertible_to<S, std::string_view> &&
    std::constructible_from<std::string, S> && !std::same_as<S, std::nullptr_t>;

// What the two names share. `Self` keeps them apart: they neither convert nor compare.
template <class Self>
class BasicName {
public:
    template <NameText S>
    constexpr BasicName(S text) : text_(std::move(text)) {}

    template <NamedEnum E>
    constexpr BasicName(E value) : text_(std::string_view(to_name(value))) {}

    constexpr const std::string& str() const& noexcept { return text_; }
    constexpr std::string str() && noexcept { return std::move(text_); }
    constexpr std::string_view view() const noexcept { return text_; }
    constexpr bool empty() const noexcept { return text_.empty(); }

    // Byte by byte, as the databases compare them.
    friend constexpr bool operator==(const Self& a, const Self& b) { return a.view() == b.view(); }
    friend constexpr auto operator<=>(const Self& a, const Self& b) {
        return a.view() <=> b.view();
    }

protected:
    constexpr BasicName() = default;

private:
    std::string text_;
};

// TopicName: the kind of a message; with the aggregate type it selects the handler. Empty by
// default, which no queue takes.
class TopicName : public BasicName<TopicName> {
public:
    constexpr TopicName() = default;
    using BasicName::BasicName;
};

// AggregateType: the kind of thing a message speaks of. global() by default.
class AggregateType : public BasicName<AggregateType> {
public:
    static constexpr std::string_view global_name = "__GLOBAL__";

    constexpr AggregateType() : BasicName(global_name) {}
    using BasicName::BasicName;

    static constexpr AggregateType global() { return {}; }
};

}  // namespace postroom
