// A fuzz target is one file, <name>_fuzz.cpp, that defines run(): what is done with an input that
// anybody may have written. It returns for every input; what it must never do is crash, leak, hang,
// or break a rule that it states with require().
//
// The same file is linked twice: with libFuzzer, which looks for inputs that break it (entry.cpp),
// and in every other build with replay.cpp, which repeats those that are kept in the repository.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace postroom::fuzz {

void run(std::string_view input);

// Ends the process when `holds` is not true: to the fuzzer that is a crash.
void require(bool holds, std::string_view rule);

// Calls `read`, which may refuse its input with a `Refusal`. Returns whether it took it.
template <class Refusal, class Read>
bool takes(const Read& read) {
    try {
        read();
        return true;
    } catch (const Refusal& refusal) {
        require(!std::string_view(refusal.what()).empty(), "a refusal says why");
        return false;
    }
}

// Cuts off and returns what stands before the next `end`; all of it when there is none.
inline std::string_view cut(std::string_view& rest, char end) {
    const std::size_t at = rest.find(end);
    const std::string_view part = rest.substr(0, at);
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
    return part;
}

}  // namespace postroom::fuzz
