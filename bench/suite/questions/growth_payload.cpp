#include <fmt/format.h>

#include "suite/ours.hpp"
#include "suite/questions/questions.hpp"

namespace bench {
namespace {

constexpr std::uint32_t batch = 20;

Sample there_and_back(Engine& engine, const Ours& ours, std::size_t bytes, std::size_t messages) {
    postroom::NewMessage message = sample_message();
    // Nothing that a database could compress.
    std::string payload(bytes, '\0');
    for (char& byte : payload) byte = static_cast<char>(random_int64());
    message.payload = std::move(payload);
    message.content_type = "application/octet-stream";
    const std::vector<postroom::NewMessage> rows(batch, message);
    Meter meter(engine);
    for (std::size_t done = 0; done < messages; done += batch) {
        ours.outbox.enqueue_all(rows);
        ours.drain(batch);
    }
    return meter.finish(static_cast<double>(messages));
}

}  // namespace

void ask_growth_payload(Bench& bench) {
    for (const auto& engine : bench.engines()) {
        const Ours ours(engine->fresh_database());
        Comparison comparison{
            "growth_payload", engine->name(), "enqueue_all and verbs, batch 20", "0 bytes", {}};
        for (const std::size_t bytes : {0, 200, 4096, 65'536, 1'048'576}) {
            // About as many bytes for each size, within reason.
            const std::size_t messages =
                std::clamp<std::size_t>((bench.options().quick() ? 40'000'000 : 400'000'000) /
                                            std::max<std::size_t>(bytes, 20'000),
                                        batch, 2'000) /
                batch * batch;
            comparison.variants.push_back(
                {fmt::format("{} bytes", bytes), Role::ours,
                 [&, bytes, messages] { return there_and_back(*engine, ours, bytes, messages); }});
        }
        bench.run(comparison, bench.options().growth_repetitions);
    }
}

}  // namespace bench
