#include "base/wake_pipe.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.hpp"

namespace postroom::base::wake_pipe_test {
namespace {

bool readable(const WakePipe& pipe) {
    pollfd polled{.fd = pipe.descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&polled, 1, 0) == 1;
}

TEST(WakePipe, WakesUntilItIsTaken) {
    const WakePipe pipe;
    EXPECT_FALSE(readable(pipe));
    pipe.take();  // does not wait
    pipe.wake();
    pipe.wake();
    EXPECT_TRUE(readable(pipe));
    pipe.take();
    EXPECT_FALSE(readable(pipe));
}

// Nobody waits for whoever wakes.
TEST(WakePipe, ManyWakesAreTakenAtOnceAndBlockNobody) {
    const WakePipe pipe;
    for (int i = 0; i < 200'000; ++i) pipe.wake();
    pipe.take();
    EXPECT_FALSE(readable(pipe));
}

TEST(WakePipe, OtherProgramsInheritNothing) {
    const WakePipe pipe;
    EXPECT_NE(::fcntl(pipe.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
    const int socket = private_socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_GE(socket, 0);
    EXPECT_NE(::fcntl(socket, F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(::fcntl(socket, F_GETFL) & O_NONBLOCK, 0);
    do_not_block(socket);
    EXPECT_NE(::fcntl(socket, F_GETFL) & O_NONBLOCK, 0);
    ::close(socket);
}

}  // namespace
}  // namespace postroom::base::wake_pipe_test
