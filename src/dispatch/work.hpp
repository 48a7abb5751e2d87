// Work: messages for one call of one handler.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "dispatch/isolation.hpp"
#include "postroom/handler.hpp"

namespace postroom {

struct Work {
    std::vector<Message> messages{};  // several for a batch handler only
    const Routes::Route* route = nullptr;
    std::stop_source stop{};
    std::string destination{};
    Instant started{};
    Care care = Care::usual;
};

}  // namespace postroom
