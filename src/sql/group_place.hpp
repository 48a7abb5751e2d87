// GroupPlace: where a thread waits until another has done its work for it, or makes it lead.
//
// Shared by the two, because either may be done with it first.
//
// Thread safety: the one who waits calls wait(), told_within() and rethrow(), the one who works
// fail_with() and tell(), which hands over what stands here.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/mutex.hpp"
#include "postroom/clock.hpp"
#include "postroom/error.hpp"

namespace postroom::sql {

class GroupPlace {
public:
    enum class Fate { waiting, leads, committed, failed, alone };

    // One text for all who hear of it. Not an Error: what its copies share is not made for threads.
    struct Failure {
        ErrorKind kind{};
        std::shared_ptr<const std::string> what{};  // nullptr: there was no memory for it

        static Failure of(const Error& error) noexcept;
    };

    Fate wait();
    bool told_within(Duration limit);
    [[noreturn]] void rethrow() const;

    void tell(Fate fate);

    std::optional<Failure> failure{};  // of the one who works, until it tells the fate

private:
    base::Mutex mutex_;
    base::CondVar told_;
    Fate fate_ POSTROOM_GUARDED_BY(mutex_) = Fate::waiting;
};

}  // namespace postroom::sql
