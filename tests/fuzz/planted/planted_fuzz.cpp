// A target with a bug, to see that it is found and leaves its input.
#include "fuzz.hpp"

namespace postroom::fuzz {

void run(std::string_view input) { require(!input.starts_with("bug!"), "there is no bug"); }

}  // namespace postroom::fuzz
