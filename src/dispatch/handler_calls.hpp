// HandlerCalls: calls the handlers, between the interceptors. Knows nothing of queues and leases.
//
// Thread safety: may be shared once the interceptors are there.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "dispatch/notifier.hpp"
#include "dispatch/work.hpp"
#include "queue/handler_run.hpp"

namespace postroom {

class HandlerCalls {
public:
    HandlerCalls(const DispatchSetup& setup, const Notifier& notifier)
        : setup_(setup), notifier_(notifier) {}

    void intercept(std::shared_ptr<Interceptor> interceptor) {
        interceptors_.push_back(std::move(interceptor));
    }

    // One run for each message.
    std::vector<HandlerRun> run(const Work& work) const;

    // An asynchronous one. `end` is called once, perhaps later and on any thread, when this may be
    // gone: so it has to see to it, and to call after() if it is not.
    using End = std::function<void(const Work& work, std::size_t entered, Verdict verdict)>;
    void run_async(Work work, End end) const;
    // Calls after() of the interceptors whose before() was called.
    void after(const Message& message, std::string_view error, std::size_t entered) const;

private:
    // How many interceptors were called before, and what one of them threw.
    struct Entered {
        std::size_t count = 0;
        std::optional<Verdict> refused{};
    };
    Entered before(const Message& message) const;
    std::vector<HandlerRun> run_handlers(const Work& work) const;
    std::vector<HandlerRun> run_intercepted(const Work& work) const;

    const DispatchSetup& setup_;
    const Notifier& notifier_;
    std::vector<std::shared_ptr<Interceptor>> interceptors_;  // constant after the first step
};

}  // namespace postroom
