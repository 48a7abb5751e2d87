// bench: what the library costs beside what one would write by hand, in one run.
//
// Measures every question in turn on servers of its own, prints tables, and writes results.json
// and a picture for each question. --render makes the pictures and the page of evidence from a
// results.json that is there already.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "suite/bench.hpp"
#include "suite/questions/questions.hpp"
#include "suite/report/json.hpp"
#include "suite/report/page.hpp"
#include "suite/report/picture.hpp"
#include "suite/report/table.hpp"

namespace bench {
namespace {

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// --name=value, or --name.
using Flags = std::map<std::string, std::string>;

Flags parse(int argument_count, char** arguments) {
    static const std::set<std::string> known = {
        "full",     "question", "engine", "repetitions", "seconds", "backlog", "snapshot-seconds",
        "flush-us", "output",   "render", "page",        "list",    "consume", "listen",
        "peers",    "help"};
    Flags flags;
    for (int i = 1; i < argument_count; ++i) {
        const std::string_view argument = arguments[i];
        const std::size_t equals = argument.find('=');
        if (argument.rfind("--", 0) != 0)
            throw UsageError("unknown argument " + std::string(argument));
        const std::string name(argument.substr(
            2, equals == std::string_view::npos ? std::string_view::npos : equals - 2));
        if (!known.contains(name)) throw UsageError("unknown option --" + name);
        flags[name] = equals == std::string_view::npos ? "" : argument.substr(equals + 1);
    }
    return flags;
}

template <class Number>
void set_number(const Flags& flags, const std::string& name, Number& value) {
    const auto found = flags.find(name);
    if (found == flags.end()) return;
    const std::string& text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value > 0))
        throw UsageError("--" + name + " needs a number above 0, not '" + text + "'");
}

std::set<std::string> words(const Flags& flags, const std::string& name) {
    std::set<std::string> out;
    const auto found = flags.find(name);
    if (found == flags.end()) return out;
    std::istringstream list(found->second);
    for (std::string word; std::getline(list, word, ',');) out.insert(word);
    return out;
}

Options options_from(const Flags& flags) {
    Options options;
    if (flags.contains("full")) {
        options.mode = "full";
        options.repetitions = 5;
        options.seconds = 2;
        options.backlog = 60'000;
        options.snapshot_seconds = 80;
        options.growth_repetitions = 3;
        options.growth_max = 1'000'000;
        options.stores_max = 1'000;
        options.relay_pending = 1'000'000;
    }
    set_number(flags, "repetitions", options.repetitions);
    set_number(flags, "seconds", options.seconds);
    set_number(flags, "backlog", options.backlog);
    set_number(flags, "snapshot-seconds", options.snapshot_seconds);
    set_number(flags, "flush-us", options.flush_us);
    options.questions = words(flags, "question");
    options.engines = words(flags, "engine");
    for (const std::string& id : options.questions) {
        if (find_question(id) == nullptr) throw UsageError("unknown question " + id);
    }
    for (const std::string& name : options.engines) {
        if (name != "postgresql" && name != "mariadb" && name != "sqlite")
            throw UsageError("unknown engine " + name);
    }
    if (flags.contains("output")) options.output = flags.at("output");
    if (flags.contains("peers")) {
        options.peers = flags.at("peers");
        options.engines = {"postgresql"};
    }
    return options;
}

void write_pictures(const Results& results, const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    for (const Question& question : questions()) write_picture(results, question, folder);
}

int render(const Flags& flags, const Options& options) {
    const Results results = read_json(flags.at("render"));
    for (const Group& group : results.groups) print_group(group);
    print_bars(judge(results));
    write_pictures(results, options.output);
    if (flags.contains("page")) write_page(results, flags.at("page"));
    return 0;
}

// False, with a word about it, when the question could not be answered; the others still are.
bool ask(Bench& bench, const Question& question) {
    fmt::print("\n== {}\n   {}\n", question.title, question.note);
    try {
        question.ask(bench);
        return true;
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench: {}: {}\n", question.id, error.what());
        return false;
    }
}

int measure(const Flags& flags, const Options& options) {
    const std::filesystem::path file = options.output / "results.json";
    std::filesystem::create_directories(options.output);
    Bench bench(options);
    bool all_answered = true;
    for (const Question& question : questions()) {
        if (!options.wants_question(question.id)) continue;
        if (options.with_peers() && question.peers_metric.empty()) continue;
        all_answered = ask(bench, question) && all_answered;
        // What is there is kept, whatever becomes of the rest of a long run.
        write_json(bench.results(), file);
    }
    print_bars(judge(bench.results()));
    write_pictures(bench.results(), options.output);
    // Read back, so that the page says what the file says.
    if (flags.contains("page")) write_page(read_json(file), flags.at("page"));
    fmt::print("\n{} and a picture for each question are written.\n", file.string());
    return all_answered ? 0 : 1;
}

int run(const Flags& flags) {
    if (flags.contains("help")) {
        fmt::print("{}", usage);
        return 0;
    }
    if (flags.contains("list")) {
        for (const Question& question : questions())
            fmt::print("{:<18}{}\n", question.id, question.title);
        return 0;
    }
    if (flags.contains("consume")) return consume(flags.at("consume"));
    if (flags.contains("listen")) return listen(flags.at("listen"));
    const Options options = options_from(flags);
    return flags.contains("render") ? render(flags, options) : measure(flags, options);
}

}  // namespace
}  // namespace bench

int main(int argument_count, char** arguments) {
    try {
        return bench::run(bench::parse(argument_count, arguments));
    } catch (const bench::UsageError& error) {
        fmt::print(stderr, "bench: {}\n{}", error.what(), bench::usage);
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench: {}\n", error.what());
        return 1;
    }
}
