#include "property/step.hpp"

#include <array>
#include <ostream>

namespace postroom::test {

bool is_transactional(Verb verb) {
    switch (verb) {
        case Verb::enqueue:
        case Verb::enqueue_many:
        case Verb::receive:
        case Verb::receive_many:
        case Verb::see:
        case Verb::mark:
        case Verb::settle:
        case Verb::settle_many:
            return true;
        default:
            return false;
    }
}

void showValue(const Step& step, std::ostream& out) {
    static constexpr std::array<const char*, static_cast<std::size_t>(Verb::count_)> names{
        "enqueue", "enqueue_many", "enqueue_born",  "receive", "receive_many", "see",
        "mark",    "claim",        "claim_briefly", "nibble",  "settle",       "settle_many",
        "extend",  "expire",       "reap",          "redrive", "purge",        "begin"};
    out << '\n'
        << names.at(static_cast<std::size_t>(step.verb)) << '(' << to_string(step.queue) << ", "
        << step.a << ", " << step.b << ", " << step.c << ')';
}

}  // namespace postroom::test
