// WakePipe: wakes a thread that waits in poll(). Several calls before it wakes count as one.
//
// Thread safety: wake() may be called by any thread; the others belong to the one that waits.
#pragma once

namespace postroom::base {

class WakePipe {
public:
    // Throws std::system_error when the process has no file descriptor left.
    WakePipe();
    ~WakePipe();
    WakePipe(const WakePipe&) = delete;
    WakePipe& operator=(const WakePipe&) = delete;

    // Readable from the first wake() on, until take().
    int descriptor() const { return ends_[0]; }
    void wake() const noexcept;
    void take() const noexcept;

private:
    int ends_[2];
};

}  // namespace postroom::base
