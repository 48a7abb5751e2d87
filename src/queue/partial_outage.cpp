#include "queue/partial_outage.hpp"

#include <algorithm>
#include <utility>

namespace postroom {

Verdict spared(Verdict verdict, Duration pause) {
    verdict.destination_down = false;
    verdict.delay = pause;
    return verdict;
}

void spare_a_living_destination(std::vector<Verdict>& verdicts) {
    const auto is_done = [](const Verdict& v) { return v.outcome == Outcome::ack; };
    if (std::ranges::none_of(verdicts, is_done)) return;
    for (Verdict& verdict : verdicts) {
        if (verdict.destination_down) verdict = spared(std::move(verdict));
    }
}

}  // namespace postroom
