#include "support/guide.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace postroom::test {

std::vector<std::string> sql_blocks(const std::string& name, const std::string& heading) {
    const std::filesystem::path path = std::filesystem::path(POSTROOM_SOURCE_DIR) / "docs" / name;
    std::ifstream file(path);
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    const std::size_t begin = page.find("\n## " + heading + "\n");
    if (begin == std::string::npos)
        throw std::runtime_error(path.string() + " has no section '" + heading + "'");
    const std::string section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
    constexpr std::string_view fence = "```sql\n";
    std::vector<std::string> blocks;
    for (std::size_t at = section.find(fence); at != std::string::npos;
         at = section.find(fence, at + 1)) {
        const std::size_t from = at + fence.size();
        blocks.push_back(section.substr(from, section.find("```", from) - from));
    }
    return blocks;
}

}  // namespace postroom::test
