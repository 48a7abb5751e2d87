// The guide shows the code of the example, not something like it.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "support/source_file.hpp"

namespace postroom::test {
namespace {

// The lines between "// [name]" and "// [/name]", without the indentation of the marks.
std::string region(const std::string& source, const std::string& name) {
    std::istringstream lines(source);
    std::string text;
    std::size_t indent = 0;
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t start = line.find_first_not_of(' ');
        const std::string content = start == std::string::npos ? "" : line.substr(start);
        if (content == "// [/" + name + "]") return text;
        if (inside) text += (line.size() > indent ? line.substr(indent) : "") + "\n";
        if (content == "// [" + name + "]") {
            inside = true;
            indent = start;
        }
    }
    throw std::runtime_error("the example has no region " + name);
}

struct Block {
    std::string name;
    std::string text;
};

// Blocks begin with "```cpp", the line before names their region: "<!-- [name] -->".
std::vector<Block> code_blocks(const std::string& guide) {
    std::vector<Block> blocks;
    std::istringstream lines(guide);
    std::string before;
    for (std::string line; std::getline(lines, line); before = line) {
        if (line != "```cpp") continue;
        const std::size_t open = before.find('[');
        const std::size_t close = before.find(']');
        if (open == std::string::npos || close == std::string::npos)
            throw std::runtime_error("a code block of the guide names no region");
        Block& block = blocks.emplace_back();
        block.name = before.substr(open + 1, close - open - 1);
        while (std::getline(lines, line) && line != "```") block.text += line + "\n";
    }
    return blocks;
}

TEST(ReceivingWebhooksGuide, EveryCodeBlockIsARegionOfTheExample) {
    const std::string example = read_source_file("examples/webhook_receiver/webhook_receiver.cpp");
    const std::vector<Block> blocks =
        code_blocks(read_source_file("docs/guides/receiving-webhooks.md"));
    EXPECT_GE(blocks.size(), 5u);
    for (const Block& block : blocks)
        EXPECT_EQ(block.text, region(example, block.name)) << block.name;
}

}  // namespace
}  // namespace postroom::test
