#include "cli/interrupt.hpp"

#include "cli/failure.hpp"

namespace postroom::cli {

namespace {

constexpr std::chrono::milliseconds look_every{50};

}  // namespace

Interrupt::Interrupt()
    : listener_([this](const std::stop_token& over) {
          while (!over.stop_requested())
              if (signals_.wait(look_every)) source_.request_stop();
      }) {}

void Interrupt::check() const {
    if (source_.stop_requested()) throw Interrupted();
}

}  // namespace postroom::cli
