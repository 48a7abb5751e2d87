#include "queue/verdict.hpp"

#include "postroom/error.hpp"
#include "postroom/handler.hpp"

namespace postroom {

Verdict verdict_of(const std::exception_ptr& thrown, Duration pause) {
    if (thrown == nullptr) return {};
    try {
        std::rethrow_exception(thrown);
    } catch (const RetryAfter& e) {
        return {.outcome = Outcome::abandon, .error = e.what(), .delay = e.delay()};
    } catch (const PermanentFailure& e) {
        return {.outcome = Outcome::fail, .error = e.what(), .delay = {}};
    } catch (const DestinationDown& e) {
        return {.outcome = Outcome::release, .error = e.what(), .delay = pause};
    } catch (const Error& e) {
        // A database that is away or busy says nothing about the message.
        const bool blameless = e.kind() != ErrorKind::rejected && e.kind() != ErrorKind::misuse;
        return {.outcome = blameless ? Outcome::release : Outcome::abandon,
                .error = e.what(),
                .delay = blameless ? std::optional(pause) : std::nullopt};
    } catch (const std::exception& e) {
        return {.outcome = Outcome::abandon, .error = e.what(), .delay = {}};
    } catch (...) {
        return {.outcome = Outcome::abandon,
                .error = "the handler threw something unknown",
                .delay = {}};
    }
}

}  // namespace postroom
