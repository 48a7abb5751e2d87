// SIGSTOP that has happened: the threads of a process stop one after the other, and whoever looks
// meanwhile is still answered.
#pragma once

#include <sys/types.h>

namespace postroom::test {

// Returns when all threads of `pid` stand still, or it has ended. Throws std::runtime_error when it
// does not stop within half a minute.
void stop_process(pid_t pid);

}  // namespace postroom::test
