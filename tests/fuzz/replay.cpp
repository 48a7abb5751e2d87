// replay <corpus> <regressions>: runs a target with every file of the two folders. The first has
// some, the second those inputs that once broke it, if there were any.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz.hpp"

namespace {

std::size_t replay(const std::filesystem::path& folder) {
    std::size_t files = 0;
    if (!std::filesystem::exists(folder)) return files;
    for (const std::filesystem::directory_entry& entry :
         std::filesystem::directory_iterator(folder)) {
        std::printf("%s\n", entry.path().c_str());
        std::fflush(stdout);  // the last line names the one that broke it
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string input{std::istreambuf_iterator<char>(file), {}};
        postroom::fuzz::run(input);
        ++files;
    }
    return files;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    const bool has_corpus = replay(arguments[1]) > 0;
    if (!has_corpus) std::printf("%s: no inputs\n", arguments[1]);
    replay(arguments[2]);
    return has_corpus ? 0 : 1;
}
