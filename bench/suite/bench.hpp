// Bench: measures variants of one thing in turn and keeps what it finds.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "suite/engines/engine.hpp"
#include "suite/options.hpp"
#include "suite/results.hpp"

namespace bench {

// One way to do it; `sample` does it once and says what it cost.
struct Variant {
    std::string name{};
    Role role = Role::ours;
    std::function<Sample()> sample{};
};

struct Comparison {
    std::string question{};
    std::string engine{};
    std::string setting{};
    std::string reference{};  // the variant that the others are compared with; empty: none
    std::vector<Variant> variants{};
};

void add(Comparison& comparison, std::vector<Variant> variants);

class Peers;

class Bench {
public:
    explicit Bench(Options options);
    ~Bench();

    const Options& options() const { return options_; }
    const std::vector<std::unique_ptr<Engine>>& engines() const { return engines_; }
    // nullptr when that engine is not wanted.
    Engine* engine(const std::string& name) const;

    // nullptr when they are not wanted.
    const Peers* peers() const { return peers_.get(); }

    // Every variant once, then all of them again, each time beginning with another. `repetitions`
    // 0: those of the options.
    void run(const Comparison& comparison, std::size_t repetitions = 0);

    const Results& results() const { return results_; }

private:
    const Options options_;
    std::vector<std::unique_ptr<Engine>> engines_;
    std::unique_ptr<Peers> peers_;
    Results results_;
};

}  // namespace bench
