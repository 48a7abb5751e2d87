// refusal_of: how a sink refuses its settings.
#pragma once

#include <string>

#include "postroom/sink.hpp"

namespace postroom::test {

// "setting|text" of the SinkConfigError that `make` throws; empty when it throws none.
template <class Make>
std::string refusal_of(const Make& make) {
    try {
        make();
    } catch (const SinkConfigError& error) {
        return error.setting() + "|" + error.what();
    }
    return {};
}

}  // namespace postroom::test
