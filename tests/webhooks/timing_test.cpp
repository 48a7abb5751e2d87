// How long a comparison takes must not tell how much of a forged signature was right.
//
// A clock on a busy machine tells more about the machine than about the code, so what is compared
// is the way through the code: a child compares two strings and is stepped through it, instruction
// by instruction. Wherever the strings differ, it must be the same instructions in the same order.
// The same measurement must find the leak of a plain comparison and of memcmp, the fastest one
// there is, else it would prove nothing.
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/sha256.hpp"

namespace postroom::test {
namespace {

using Compare = bool (*)(std::string_view, std::string_view);

// Longer than a digest: what leaks on 32 bytes leaks more here.
constexpr std::size_t length = 512;

bool plain_equal(std::string_view a, std::string_view b) {
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i] != b[i]) return false;
    return true;
}

bool memcmp_equal(std::string_view a, std::string_view b) {
    return std::memcmp(a.data(), b.data(), a.size()) == 0;
}

struct Path {
    std::uint64_t instructions = 0;
    std::uint64_t hash = 14695981039346656037U;  // FNV-1a of where they are, in order

    void step(std::uint64_t address) {
        ++instructions;
        hash = (hash ^ address) * 1099511628211U;
    }
    bool operator==(const Path&) const = default;
};

std::uint64_t instruction_pointer(pid_t child) {
    user_regs_struct registers{};
    iovec whole{&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &whole) != 0)
        throw std::runtime_error(std::string("PTRACE_GETREGSET: ") + std::strerror(errno));
#if defined(__x86_64__)
    return registers.rip;
#else
    return registers.pc;
#endif
}

constexpr int not_traced = 77;

// Waits until the child has stopped; false: it has ended, and well.
bool stopped(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid");
    if (WIFSTOPPED(status)) return true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == not_traced)
        throw std::runtime_error("this test needs ptrace(), which is forbidden here");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error("the child took the strings for equal, or crashed");
    return false;
}

// The child stops before and after the comparison; the same strings are compared once before that,
// so that the loader has done its part.
[[noreturn]] void compare_and_exit(Compare compare, std::string_view a, std::string_view b) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(not_traced);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // none stays behind when the test fails
    bool equal = compare(a, b);
    raise(SIGSTOP);
    equal |= compare(a, b);
    raise(SIGSTOP);
    _exit(equal ? 1 : 0);
}

Path path_of(Compare compare, std::size_t differing) {
    const std::string expected(length, 'x');
    std::string given = expected;
    given[differing] = 'y';
    const pid_t child = fork();
    if (child == 0) compare_and_exit(compare, expected, given);
    if (child < 0 || !stopped(child)) throw std::runtime_error("no child");
    Path path;
    // The second stop is a signal, not a step, and the way there is the same for all.
    while (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0 && stopped(child)) {
        siginfo_t why{};
        ptrace(PTRACE_GETSIGINFO, child, nullptr, &why);
        if (why.si_signo == SIGSTOP) break;
        path.step(instruction_pointer(child));
    }
    ptrace(PTRACE_CONT, child, nullptr, nullptr);
    EXPECT_FALSE(stopped(child));
    return path;
}

bool leaks(Compare compare) {
    const Path first = path_of(compare, 0);
    EXPECT_GT(first.instructions, 10U);
    for (const std::size_t differing : {length / 3, length / 2, length - 1})
        if (path_of(compare, differing) != first) return true;
    return false;
}

TEST(ConstantTimeEqual, TheWayDoesNotTellWhereSignaturesDiffer) {
    EXPECT_FALSE(leaks(&base::constant_time_equal));
}

TEST(ConstantTimeEqual, TheMeasurementFindsTheLeakOfAPlainComparison) {
    EXPECT_TRUE(leaks(&plain_equal));
    EXPECT_TRUE(leaks(&memcmp_equal));
}

}  // namespace
}  // namespace postroom::test
