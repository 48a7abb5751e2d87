#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <variant>

#include "suite/report/json.hpp"

namespace bench {
namespace {

// A value of the document; null is a monostate.
struct Json {
    std::variant<std::monostate, bool, double, std::string, std::vector<Json>,
                 std::map<std::string, Json>>
        value{};

    template <class T>
    const T& as() const {
        if (const T* const found = std::get_if<T>(&value)) return *found;
        throw std::runtime_error("results: a value of another kind was expected");
    }
    const Json& at(const std::string& name) const {
        const auto& members = as<std::map<std::string, Json>>();
        const auto found = members.find(name);
        if (found == members.end()) throw std::runtime_error("results: no member " + name);
        return found->second;
    }
    const std::string& text(const std::string& name) const { return at(name).as<std::string>(); }
};

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    Json read() {
        switch (peek()) {
            case '{':
                return read_object();
            case '[':
                return read_array();
            case '"':
                return {read_string()};
            case 't':
                return read_word("true", {true});
            case 'f':
                return read_word("false", {false});
            case 'n':
                return read_word("null", {});
            default:
                return read_number();
        }
    }

private:
    char peek() {
        at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
        if (at_ == text_.size()) fail();
        return text_[at_];
    }
    bool take(char c) {
        if (peek() != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!take(c)) fail();
    }
    [[noreturn]] void fail() const {
        throw std::runtime_error("results: not understood at byte " + std::to_string(at_));
    }

    Json read_word(std::string_view word, Json value) {
        if (text_.substr(at_, word.size()) != word) fail();
        at_ += word.size();
        return value;
    }
    Json read_number() {
        double value = 0;
        const auto [end, error] =
            std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc{}) fail();
        at_ = static_cast<std::size_t>(end - text_.data());
        return {value};
    }
    std::string read_string() {
        expect('"');
        std::string out;
        for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] != '\\') {
                out += text_[at_];
            } else if (text_.substr(at_, 2) == "\\u") {
                unsigned code = 0;
                std::from_chars(text_.data() + at_ + 2, text_.data() + at_ + 6, code, 16);
                out += static_cast<char>(code);
                at_ += 5;
            } else {
                out += text_[++at_];
            }
        }
        expect('"');
        return out;
    }
    Json read_array() {
        std::vector<Json> out;
        expect('[');
        if (take(']')) return {out};
        do {
            out.push_back(read());
        } while (take(','));
        expect(']');
        return {std::move(out)};
    }
    Json read_object() {
        std::map<std::string, Json> out;
        expect('{');
        if (take('}')) return {out};
        do {
            peek();
            std::string name = read_string();
            expect(':');
            out[std::move(name)] = read();
        } while (take(','));
        expect('}');
        return {std::move(out)};
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

Series series_from(const Json& json) {
    Series out{json.text("name"), role_from(json.text("role")), {}};
    for (const auto& [name, values] : json.at("metrics").as<std::map<std::string, Json>>()) {
        const auto& samples = values.at("samples").as<std::vector<Json>>();
        out.samples.resize(std::max(out.samples.size(), samples.size()));
        for (std::size_t i = 0; i < samples.size(); ++i) {
            if (const double* const number = std::get_if<double>(&samples[i].value))
                out.samples[i][name] = *number;
        }
    }
    return out;
}

}  // namespace

Results read_json(const std::filesystem::path& file) {
    std::ifstream in(file);
    if (!in) throw std::runtime_error("cannot read " + file.string());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const Json json = Reader(text).read();
    Results out;
    out.mode = json.text("mode");
    for (const auto& [name, value] : json.at("about").as<std::map<std::string, Json>>())
        out.about[name] = value.as<std::string>();
    for (const Json& group : json.at("groups").as<std::vector<Json>>()) {
        Group& added = out.groups.emplace_back();
        added.question = group.text("question");
        added.engine = group.text("engine");
        added.setting = group.text("setting");
        added.reference = group.text("reference");
        for (const Json& series : group.at("series").as<std::vector<Json>>())
            added.series.push_back(series_from(series));
    }
    return out;
}

}  // namespace bench
