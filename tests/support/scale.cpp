#include "support/scale.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace postroom::test {

double load_scale() {
    const char* text = std::getenv("POSTROOM_TEST_SCALE");
    if (text == nullptr || *text == '\0') return 0.1;
    char* end = nullptr;
    const double scale = std::strtod(text, &end);
    if (*end != '\0' || !std::isfinite(scale) || scale <= 0) {
        throw std::invalid_argument("POSTROOM_TEST_SCALE must be a positive number, is '" +
                                    std::string(text) + "'");
    }
    return scale;
}

std::uint64_t scaled(std::uint64_t full_load, std::uint64_t minimum) {
    const double load = std::round(static_cast<double>(full_load) * load_scale());
    return std::max(minimum, static_cast<std::uint64_t>(load));
}

}  // namespace postroom::test
