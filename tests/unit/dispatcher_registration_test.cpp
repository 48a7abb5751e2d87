// What may be registered with a Dispatcher, and what is refused before the first message meets it.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "postroom/dispatcher.hpp"
#include "postroom/testing.hpp"

namespace postroom::dispatcher_registration_test {
namespace {

struct DispatcherRegistration : testing::Test {
    // The text of what `register_it` throws; empty when nothing was thrown.
    template <class Register>
    std::string refused(const Register& register_it) {
        try {
            register_it(dispatcher);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return {};
    }

    MemoryStore store;
    Dispatcher dispatcher{store};
};

TEST_F(DispatcherRegistration, RefusesANullInterceptor) {
    EXPECT_EQ(refused([](Dispatcher& d) { d.intercept(nullptr); }),
              "interceptor: must not be null");
    EXPECT_EQ(refused([](Dispatcher& d) { d.intercept(std::make_shared<Interceptor>()); }), "");
}

TEST_F(DispatcherRegistration, RefusesEmptyHooks) {
    EXPECT_EQ(refused([](Dispatcher& d) { d.before(std::function<void(const Message&)>{}); }),
              "hook before handlers: must not be empty");
    EXPECT_EQ(refused([](Dispatcher& d) {
                  d.after(std::function<void(const Message&, std::string_view)>{});
              }),
              "hook after handlers: must not be empty");
}

TEST_F(DispatcherRegistration, RefusesAnEmptyHandler) {
    EXPECT_EQ(refused([](Dispatcher& d) { d.on("t", std::function<void(const Message&)>{}); }),
              "handler of topic 't': must not be empty");
}

}  // namespace
}  // namespace postroom::dispatcher_registration_test
