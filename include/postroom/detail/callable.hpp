// What the templates of the public headers ask of something that is to be called. Not for users.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace postroom::detail {

// Called with `Arguments` it returns a Result and nothing else: a bool is not a void.
template <class F, class Result, class... Arguments>
concept Returns = std::invocable<F&, Arguments...> &&
    std::same_as<std::remove_cvref_t<std::invoke_result_t<F&, Arguments...>>, Result>;

// Called without arguments it returns something that a Result can be made of.
template <class F, class Result>
concept Makes = std::invocable<F> && std::convertible_to<std::invoke_result_t<F>, Result>;

// A null pointer, or a std::function (or the like) without a target. A lambda never is.
template <class F>
bool is_empty(const F& f) {
    if constexpr (std::is_pointer_v<F> || std::is_member_pointer_v<F>) {
        return f == nullptr;
    } else if constexpr (requires { f.operator bool(); }) {
        return !f.operator bool();
    } else {
        return false;
    }
}

// What `f` returns, or a Result by default when that is nothing.
template <class Result, class F, class... Arguments>
Result call_or_done(F& f, Arguments&... arguments) {
    if constexpr (Returns<F, void, Arguments&...>) {
        std::invoke(f, arguments...);
        return Result{};
    } else {
        return std::invoke(f, arguments...);
    }
}

}  // namespace postroom::detail
