#include <fmt/format.h>

#include <toml++/toml.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/config/key_depth.hpp"
#include "cli/config/sources.hpp"
#include "cli/failure.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

std::string read_file(const std::string& path, ExitCode missing, const std::string& where) {
    std::ifstream file(path, std::ios::binary);
    std::error_code ignored;
    if (!file || std::filesystem::is_directory(path, ignored)) {
        throw Failure(missing, fmt::format("{}cannot read the file '{}'", where, printable(path)));
    }
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// Flattens the tree of one file.
class Flattener {
public:
    explicit Flattener(std::string path) : path_(std::move(path)) {}

    void walk(const std::string& prefix, const toml::table& table) {
        for (const auto& [name, node] : table) {
            check_name(name.str(), node);
            const std::string key = prefix + std::string(name.str());
            if (const toml::table* const inner = node.as_table()) {
                walk(key + ".", *inner);
            } else if (const toml::array* const array = node.as_array()) {
                walk_array(key, *array);
            } else {
                add(key, node);
            }
        }
    }

    std::vector<GivenValue> take() { return std::move(values_); }

private:
    std::string where(const toml::node& node) const {
        return fmt::format("{}:{}", path_, node.source().begin.line);
    }

    void check_name(std::string_view name, const toml::node& node) const {
        const bool good = !name.empty() &&
                          name.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
                              std::string_view::npos;
        if (!good) {
            throw Failure(
                ExitCode::config,
                fmt::format("{}: the name '{}' may only have letters, digits, '_' and '-'",
                            where(node), printable(name)));
        }
    }

    // Their names are what routes, flags and logs call them by.
    void refuse_without_names(const std::string& key, const toml::array& array) const {
        for (const std::string group : {"sink", "store"}) {
            if (key != group && key != group + "s") continue;
            throw Failure(ExitCode::config,
                          fmt::format("{0}: [[{1}]]: a {2} is a table with a name: "
                                      "write [{2}s.NAME]",
                                      where(array), key, group));
        }
    }

    void walk_array(const std::string& key, const toml::array& array) {
        if (array.is_array_of_tables()) {
            refuse_without_names(key, array);
            std::size_t index = 0;
            for (const toml::node& element : array)
                walk(fmt::format("{}.{}.", key, index++), *element.as_table());
            return;
        }
        std::string text;
        for (const toml::node& element : array)
            text += (text.empty() ? "" : " ") + scalar(key, element);
        values_.push_back({key, text, interpolated(text, where(array)), where(array)});
    }

    void add(const std::string& key, const toml::node& node) {
        const std::string text = scalar(key, node);
        values_.push_back({key, text, interpolated(text, where(node)), where(node)});
    }

    std::string scalar(const std::string& key, const toml::node& node) const {
        if (const auto text = node.value_exact<std::string>()) return *text;
        if (const auto number = node.value_exact<std::int64_t>()) return fmt::format("{}", *number);
        if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
        if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
        throw Failure(
            ExitCode::config,
            fmt::format("{}: '{}' must be a text, a number, true or false", where(node), key));
    }

    std::string path_;
    std::vector<GivenValue> values_;
};

}  // namespace

std::vector<GivenValue> read_toml_file(const std::string& path) {
    return read_toml(read_file(path, ExitCode::not_found, ""), path);
}

std::vector<GivenValue> read_toml(std::string_view text, const std::string& name) {
    if (const std::optional<std::size_t> line = line_of_endless_key(text)) {
        throw Failure(ExitCode::config, fmt::format("{}:{}: a key has more than {} parts", name,
                                                    *line, key_parts_max));
    }
    Flattener flattener(name);
    try {
        flattener.walk("", toml::parse(text, name));
    } catch (const toml::parse_error& error) {
        throw Failure(ExitCode::config,
                      fmt::format("{}:{}: not TOML: {}", name, error.source().begin.line,
                                  std::string(error.description())));
    }
    return flattener.take();
}

std::string interpolated(const std::string& text, const std::string& where) {
    std::string out;
    std::size_t at = 0;
    while (true) {
        const std::size_t open = text.find("${", at);
        out += text.substr(at, open == std::string::npos ? open : open - at);
        if (open == std::string::npos) return out;
        const std::size_t close = text.find('}', open);
        const std::size_t colon = text.find(':', open);
        const std::string kind = close == std::string::npos || colon > close
                                     ? ""
                                     : text.substr(open + 2, colon - open - 2);
        if (kind != "env" && kind != "file") {
            throw Failure(ExitCode::config,
                          where + ": '${' must begin ${env:NAME} or ${file:PATH}");
        }
        const std::string name = text.substr(colon + 1, close - colon - 1);
        if (kind == "env") {
            const char* const value = std::getenv(name.c_str());
            if (value == nullptr) {
                throw Failure(ExitCode::config,
                              fmt::format("{}: the environment has no variable '{}'", where, name));
            }
            out += value;
        } else {
            std::string content = read_file(name, ExitCode::config, where + ": ");
            while (content.ends_with('\n') || content.ends_with('\r')) content.pop_back();
            out += content;
        }
        at = close + 1;
    }
}

}  // namespace postroom::cli
