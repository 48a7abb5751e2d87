// File descriptors: how they are made not to be inherited, and not to be waited for.
#pragma once

namespace postroom::base {

// A socket that a program started by this one does not inherit; negative, with errno, when there is
// none to be had.
int private_socket(int family, int type, int protocol) noexcept;

void close_on_exec(int descriptor) noexcept;
// Reads and writes of it return at once.
void do_not_block(int descriptor) noexcept;

}  // namespace postroom::base
