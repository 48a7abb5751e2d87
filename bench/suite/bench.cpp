#include "suite/bench.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

#include "suite/machine.hpp"
#include "suite/peers.hpp"
#include "suite/report/table.hpp"

namespace bench {

namespace {

// While it lives, processes that are started flush slowly.
class SlowFlush {
public:
    explicit SlowFlush(unsigned micros) : on_(micros > 0) {
        if (!on_) return;
        ::setenv("POSTROOM_BENCH_FLUSH_US", std::to_string(micros).c_str(), 1);
        ::setenv("LD_PRELOAD", POSTROOM_SLOW_FLUSH, 1);
    }
    ~SlowFlush() {
        if (on_) ::unsetenv("LD_PRELOAD");
    }
    SlowFlush(const SlowFlush&) = delete;
    SlowFlush& operator=(const SlowFlush&) = delete;

private:
    const bool on_;
};

}  // namespace

void add(Comparison& comparison, std::vector<Variant> variants) {
    for (Variant& variant : variants) comparison.variants.push_back(std::move(variant));
}

Bench::Bench(Options options) : options_(std::move(options)) {
    {
        const SlowFlush slow(options_.flush_us);
        if (options_.wants_engine("postgresql")) engines_.push_back(make_postgres());
        if (options_.wants_engine("mariadb")) engines_.push_back(make_mariadb());
    }
    // The flushes of SQLite are our own.
    if (options_.wants_engine("sqlite") && options_.flush_us == 0)
        engines_.push_back(make_sqlite());
    results_.mode = options_.mode;
    results_.about = describe_machine();
    results_.about["repetitions"] = std::to_string(options_.repetitions);
    results_.about["sample"] = fmt::format(
        "{} s of load or {} messages of backlog; payload 200 bytes, no idempotency key, history "
        "off unless a row says otherwise",
        options_.seconds, options_.backlog);
    if (options_.with_peers()) {
        peers_ = std::make_unique<Peers>(options_.peers, *engine("postgresql"));
        results_.about["peers"] = peers_->about();
    }
    for (const auto& engine : engines_) results_.about[engine->name()] = engine->about();
}

Bench::~Bench() = default;

Engine* Bench::engine(const std::string& name) const {
    for (const auto& engine : engines_) {
        if (engine->name() == name) return engine.get();
    }
    return nullptr;
}

void Bench::run(const Comparison& comparison, std::size_t repetitions) {
    if (repetitions == 0) repetitions = options_.repetitions;
    const std::string setting =
        options_.flush_us == 0
            ? comparison.setting
            : fmt::format("flush {} us longer, {}", options_.flush_us, comparison.setting);
    Group group{comparison.question, comparison.engine, setting, comparison.reference, {}};
    for (const Variant& variant : comparison.variants)
        group.series.push_back({variant.name, variant.role, {}});
    const std::size_t count = comparison.variants.size();
    for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t turn = (i + repetition) % count;
            group.series[turn].samples.push_back(comparison.variants[turn].sample());
        }
    }
    print_group(group);
    results_.groups.push_back(std::move(group));
}

}  // namespace bench
