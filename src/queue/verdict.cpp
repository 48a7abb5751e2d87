#include "queue/verdict.hpp"

#include "postroom/error.hpp"

namespace postroom {

Verdict verdict_of(const std::exception_ptr& thrown, Duration pause) {
    try {
        std::rethrow_exception(thrown);
    } catch (const RetryAfter& e) {
        return Verdict::retry(e.what(), e.delay());
    } catch (const PermanentFailure& e) {
        return Verdict::fail(e.what());
    } catch (const DestinationDown& e) {
        return Verdict::down(e.what());
    } catch (const Error& e) {
        // A database that is away or busy says nothing about the message.
        if (e.kind() == ErrorKind::rejected || e.kind() == ErrorKind::misuse)
            return Verdict::retry(e.what());
        return {.outcome = Outcome::release, .error = e.what(), .delay = pause};
    } catch (const std::exception& e) {
        return Verdict::retry(e.what());
    } catch (...) {
        return Verdict::retry("the handler threw something unknown");
    }
}

}  // namespace postroom
